// Plans a graph once, and runs it.
#include "targets/tosa/interpreter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthreadpool.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <ranges>

#include "base/packing.h"
#include "base/untrusted_text.h"
#include "targets/tosa/arithmetic.h"
#include "targets/tosa/parallel.h"
#include "targets/tosa/rules.h"

namespace isthmus::tosa {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMaxOperators = 1 << 16;  // planning memory takes time by their square
constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

struct Free {
  void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{kAlignment}); }
};
using Memory = std::unique_ptr<std::byte, Free>;

// Where a value is in a run: at a constant, or at an offset of the run's memory.
struct Place {
  const std::byte* constant = nullptr;
  std::uint64_t offset = kNowhere;

  const std::byte* in(std::byte* memory) const { return constant != nullptr ? constant : memory + offset; }
};

struct Step {
  const Operator* op = nullptr;
  Kernel kernel;
  std::vector<Place> inputs;
  std::uint64_t output = 0;
  std::uint64_t scratch = 0;
};

std::uint64_t bytes_of(const Operand& operand) {
  return static_cast<std::uint64_t>(operand.count) * size_of(memory_type(operand.type));
}

bool fits(const Port& port, const Tensor& tensor) { return tensor.sizes() == port.sizes && port.takes(tensor.dtype()); }

// Elements of an input as kernels may meet them.
void copy_in(const Port& port, const Tensor& tensor, std::byte* to) {
  if (!tensor.bytes().empty()) std::memcpy(to, tensor.bytes().data(), tensor.bytes().size());
  if (port.type == Type::kBool) {
    for (std::int64_t i = 0; i < tensor.count(); ++i) to[i] = to[i] == std::byte{0} ? std::byte{0} : std::byte{1};
  } else if (port.type == Type::kI48) {
    auto* numbers = reinterpret_cast<std::int64_t*>(to);
    for (std::int64_t i = 0; i < tensor.count(); ++i) numbers[i] = wrapped_48(numbers[i]);
  } else if (port.type == Type::kI4) {
    auto* numbers = reinterpret_cast<std::int8_t*>(to);
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      numbers[i] = static_cast<std::int8_t>(static_cast<std::int8_t>(static_cast<unsigned>(numbers[i]) << 4) >> 4);
    }
  }
}

}  // namespace

bool Port::takes(DType element) const {
  if (element == dtype) return true;
  return is_unsigned && size_of(element) == size_of(dtype) && info(element).kind == DTypeClass::kUnsigned;
}

struct Interpreter::State {
  Graph graph;
  Operands operands;
  pthreadpool* threads = nullptr;
  std::size_t parts = 1;
  bool keeps_memory = true;
  std::vector<Step> steps;
  std::vector<Port> inputs, outputs;
  std::vector<Place> input_places, output_places;
  std::uint64_t memory_bytes = 0;
  std::uint64_t prepared_bytes = 0;
  std::uint64_t work = 0;

  std::mutex mutex;              // guards what follows
  std::vector<Memory> memories;  // that no run uses now

  Memory borrow() {
    {
      const std::lock_guard lock(mutex);
      if (!memories.empty()) {
        Memory memory = std::move(memories.back());
        memories.pop_back();
        return memory;
      }
    }
    const std::size_t bytes = std::max<std::size_t>(memory_bytes, kAlignment);
    return Memory(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kAlignment})));
  }
  void give_back(Memory memory) {
    if (!keeps_memory) return;
    const std::lock_guard lock(mutex);
    memories.push_back(std::move(memory));
  }

  Expected<void> check_inputs(std::span<const Tensor> given) const;
  Expected<std::vector<Tensor>> run(std::span<const Tensor> given, std::byte* memory, pthreadpool* pool) const;
};

namespace {

// Makes the plan: what is computed where.
class Planner {
 public:
  Planner(const Graph& graph, const Operands& operands, const LoadOptions& options, std::size_t parts)
      : graph_(graph), operands_(operands), options_(options), parts_(parts), resources_{options.max_bytes, parts} {}

  struct Plan {
    std::vector<Step> steps;
    std::vector<Place> places;  // of the values
    std::uint64_t bytes = 0;
    std::uint64_t prepared_bytes = 0;
    std::uint64_t work = 0;
  };
  Expected<Plan> run() {
    owner_.resize(graph_.values.size());
    for (ValueIndex i = 0; i < owner_.size(); ++i) owner_[i] = i;
    blocks_.resize(graph_.values.size());
    for (const ValueIndex input : graph_.inputs) touch(input, 0);
    for (const Operator& op : graph_.operators) {
      TRY(within(add(op), [&] { return place_of(graph_, op); }));
    }
    std::uint64_t output_bytes = 0;  // of copies: a value may be an output many times
    for (const ValueIndex output : graph_.outputs) {
      touch(output, plan_.steps.size() + 1);
      output_bytes = add_sizes(output_bytes, bytes_of(operands_[output])).value_or(~std::uint64_t{0});
    }
    if (output_bytes > options_.max_bytes) return too_large(output_bytes);
    TRY(place());
    plan_.prepared_bytes = options_.max_bytes - resources_.bytes_left;
    return std::move(plan_);
  }

 private:
  void touch(ValueIndex value, std::size_t step) {
    const ValueIndex owner = owner_[value];
    if (operands_[owner].constant != nullptr) return;
    blocks_[owner].size = bytes_of(operands_[owner]);
    blocks_[owner].touch(step);
  }

  Expected<void> add(const Operator& op) {
    const auto site = std::make_shared<const Site>(operands_.site(op));
    TRY(check(*site));
    const Rule* rule = find_rule(op.op);
    if (rule == nullptr) return {};  // a constant
    if (rule->is_view) {
      owner_[op.outputs[0]] = owner_[op.inputs[0]];
      return {};
    }
    TRY(count_work(*site, *rule));
    const bool is_fast = options_.kernels == Kernels::kFast && rule->fast != nullptr;
    Step step;
    step.op = &op;
    step.kernel = TRY((is_fast ? rule->fast : rule->plain)(site, resources_));
    // Inputs are there before the first step.
    const std::size_t now = plan_.steps.size() + 1;
    for (const ValueIndex input : op.inputs) touch(input, now);
    touch(op.outputs[0], now);
    if (step.kernel.scratch_bytes != 0) {
      scratch_.emplace_back(plan_.steps.size(), Block{step.kernel.scratch_bytes, now, now});
    }
    plan_.steps.push_back(std::move(step));
    return {};
  }
  Expected<void> count_work(const Site& site, const Rule& rule) {
    std::uint64_t work = static_cast<std::uint64_t>(site.output.count);
    for (const Operand& input : site.inputs) work += static_cast<std::uint64_t>(input.count);
    if (rule.work != nullptr) work = std::max(work, rule.work(site));
    // Waking another thread takes about as long as this many steps.
    constexpr std::uint64_t kMinSteps = 1 << 16;
    resources_.parts = static_cast<std::size_t>(std::clamp<std::uint64_t>(work / kMinSteps, 1, parts_));
    plan_.work = add_sizes(plan_.work, work).value_or(~std::uint64_t{0});
    if (plan_.work <= options_.max_work) return {};
    return fail(ErrorKind::kUnsupported, fmt::format("a run takes more than {} steps", options_.max_work));
  }

  Expected<void> place() {
    std::vector<Block> blocks = blocks_;
    for (const auto& [step, block] : scratch_) blocks.push_back(block);
    std::uint64_t sum = 0;
    for (const Block& block : blocks) sum = add_sizes(sum, block.size + kAlignment).value_or(~std::uint64_t{0});
    if (sum > std::uint64_t{1} << 60) return too_large(sum);
    const Packing packing = pack(std::move(blocks), kAlignment);
    if (packing.bytes > options_.max_bytes) return too_large(packing.bytes);
    plan_.bytes = packing.bytes;
    plan_.places.resize(graph_.values.size());
    for (ValueIndex i = 0; i < plan_.places.size(); ++i) {
      const ValueIndex owner = owner_[i];
      plan_.places[i] = {operands_[owner].constant, packing.offsets[owner]};
    }
    for (std::size_t i = 0; i < scratch_.size(); ++i) {
      plan_.steps[scratch_[i].first].scratch = packing.offsets[blocks_.size() + i];
    }
    for (Step& step : plan_.steps) {
      for (const ValueIndex input : step.op->inputs) step.inputs.push_back(plan_.places[input]);
      step.output = plan_.places[step.op->outputs[0]].offset;
    }
    return {};
  }
  tl::unexpected<Error> too_large(std::uint64_t bytes) const {
    return fail(ErrorKind::kUnsupported,
                fmt::format("a run takes {} bytes of memory, and there may be {}", bytes, options_.max_bytes));
  }

  const Graph& graph_;
  const Operands& operands_;
  const LoadOptions& options_;
  std::size_t parts_;  // of any one operator at most
  Resources resources_;
  Plan plan_;
  std::vector<ValueIndex> owner_;                       // the value whose memory a value shares
  std::vector<Block> blocks_;                           // of the values that own memory
  std::vector<std::pair<std::size_t, Block>> scratch_;  // by step
};

std::vector<Port> ports_of(const Graph& graph, const Operands& operands, const std::vector<ValueIndex>& values) {
  std::vector<Port> ports;
  for (const ValueIndex index : values) {
    const Operand& operand = operands[index];
    ports.push_back({graph.values[index].name, operand.type, memory_type(operand.type), operand.sizes});
  }
  return ports;
}

// Values that end in nothing but rescales from unsigned numbers.
std::vector<bool> read_as_unsigned(const Graph& graph) {
  std::vector<bool> has_readers(graph.values.size(), false);
  std::vector<bool> has_signed_readers(graph.values.size(), false);
  for (const ValueIndex output : graph.outputs) has_signed_readers[output] = true;
  for (const Operator& op : std::views::reverse(graph.operators)) {
    const auto* fields = std::get_if<Rescale>(&op.fields);
    const bool is_unsigned =
        fields != nullptr ? fields->input_unsigned : is_movement(op.op) && !has_signed_readers[op.outputs[0]];
    for (const ValueIndex input : op.inputs) {
      has_readers[input] = true;
      if (!is_unsigned) has_signed_readers[input] = true;
    }
  }
  for (std::size_t i = 0; i < has_readers.size(); ++i) has_readers[i] = has_readers[i] && !has_signed_readers[i];
  return has_readers;
}

// Values that come from rescales to unsigned numbers.
std::vector<bool> made_as_unsigned(const Graph& graph) {
  std::vector<bool> result(graph.values.size(), false);
  for (const Operator& op : graph.operators) {
    const auto* fields = std::get_if<Rescale>(&op.fields);
    if (fields != nullptr) result[op.outputs[0]] = fields->output_unsigned;
    if (is_movement(op.op)) result[op.outputs[0]] = result[op.inputs[0]];
  }
  return result;
}

}  // namespace

Expected<void> Interpreter::State::check_inputs(std::span<const Tensor> given) const {
  if (given.size() != inputs.size()) {
    return bad_input(fmt::format("{} inputs are given, but the graph has {}", given.size(), inputs.size()));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (fits(inputs[i], given[i])) continue;
    return bad_input(fmt::format("input {} {} is {}[{}], but {}[{}] is given", i, shown(inputs[i].name),
                                 name_of(inputs[i].dtype), fmt::join(inputs[i].sizes, ","), name_of(given[i].dtype()),
                                 fmt::join(given[i].sizes(), ",")));
  }
  return {};
}

Expected<std::vector<Tensor>> Interpreter::State::run(std::span<const Tensor> given, std::byte* memory,
                                                      pthreadpool* pool) const {
  TRY(check_inputs(given));
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (input_places[i].offset != kNowhere) copy_in(inputs[i], given[i], memory + input_places[i].offset);
  }
  std::vector<const std::byte*> pointers;
  for (const Step& step : steps) {
    pointers.clear();
    for (const Place& place : step.inputs) pointers.push_back(place.in(memory));
    const Call call{pointers.data(), memory + step.output, memory + step.scratch, pool};
    TRY(within(step.kernel.run(call), [&] { return place_of(graph, *step.op); }));
  }
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Tensor& result = results.emplace_back(outputs[i].dtype, outputs[i].sizes);
    std::memcpy(result.mutable_bytes().data(), output_places[i].in(memory), result.bytes().size());
  }
  return results;
}

Interpreter::Interpreter(std::unique_ptr<State> state) : state_(std::move(state)) {}
Interpreter::Interpreter(Interpreter&&) noexcept = default;
Interpreter& Interpreter::operator=(Interpreter&&) noexcept = default;
Interpreter::~Interpreter() = default;

Expected<Interpreter> Interpreter::load(Graph graph, const LoadOptions& options) {
  TRY(verify(graph));
  if (graph.operators.size() > kMaxOperators) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("{} operators, and {} are the most", graph.operators.size(), kMaxOperators));
  }
  auto state = std::make_unique<State>();
  state->graph = std::move(graph);
  state->operands = TRY(Operands::of(state->graph, options.max_bytes));
  state->threads = options.threads;
  state->keeps_memory = options.keeps_memory;
  state->parts = options.threads == nullptr ? 1 : pthreadpool_get_threads_count(options.threads);
  auto plan = TRY(Planner(state->graph, state->operands, options, state->parts).run());
  state->steps = std::move(plan.steps);
  state->memory_bytes = plan.bytes;
  state->prepared_bytes = plan.prepared_bytes;
  state->work = plan.work;
  state->inputs = ports_of(state->graph, state->operands, state->graph.inputs);
  state->outputs = ports_of(state->graph, state->operands, state->graph.outputs);
  const std::vector<bool> is_read_unsigned = read_as_unsigned(state->graph);
  const std::vector<bool> is_made_unsigned = made_as_unsigned(state->graph);
  for (std::size_t i = 0; i < state->inputs.size(); ++i) {
    state->inputs[i].is_unsigned = is_read_unsigned[state->graph.inputs[i]];
    state->input_places.push_back(plan.places[state->graph.inputs[i]]);
  }
  for (std::size_t i = 0; i < state->outputs.size(); ++i) {
    state->outputs[i].is_unsigned = is_made_unsigned[state->graph.outputs[i]];
    state->output_places.push_back(plan.places[state->graph.outputs[i]]);
  }
  return Interpreter(std::move(state));
}

const std::vector<Port>& Interpreter::inputs() const { return state_->inputs; }
const std::vector<Port>& Interpreter::outputs() const { return state_->outputs; }
std::uint64_t Interpreter::memory_bytes() const { return state_->memory_bytes; }
std::uint64_t Interpreter::prepared_bytes() const { return state_->prepared_bytes; }
std::uint64_t Interpreter::work() const { return state_->work; }

Expected<std::vector<Tensor>> Interpreter::run(std::span<const Tensor> inputs) const {
  Memory memory = state_->borrow();
  auto result = state_->run(inputs, memory.get(), state_->threads);
  state_->give_back(std::move(memory));
  return result;
}

Expected<std::vector<std::vector<Tensor>>> Interpreter::run_each(std::span<const std::vector<Tensor>> samples) const {
  std::vector<std::optional<Expected<std::vector<Tensor>>>> results(samples.size());
  in_parts(state_->threads, state_->parts, static_cast<std::int64_t>(samples.size()),
           [&](std::size_t, std::int64_t begin, std::int64_t end) {
             Memory memory = state_->borrow();
             for (std::int64_t i = begin; i < end; ++i) {
               const auto index = static_cast<std::size_t>(i);
               results[index] = state_->run(samples[index], memory.get(), nullptr);
             }
             state_->give_back(std::move(memory));
           });
  std::vector<std::vector<Tensor>> outputs;
  for (auto& result : results) outputs.push_back(TRY(*std::move(result)));
  return outputs;
}

}  // namespace isthmus::tosa
