// From a program file to a method: memory, values, delegates, kernels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <unordered_map>

#include "base/untrusted_text.h"
#include "engines/xnnpack/runtime.h"
#include "program/run/overlap.h"
#include "program/run/state.h"

namespace isthmus::run {
namespace {

void write_initial_value(const pte::Program& program, const pte::Tensor& tensor, std::byte* memory) {
  const std::uint64_t bytes = *pte::byte_count(tensor);
  if (bytes == 0) return;
  std::memcpy(memory + tensor.allocation->offset, program.initial_values[tensor.data_index].bytes().data(), bytes);
}

class Loader {
 public:
  Loader(const Blob& file, const std::string& name, const LoadOptions& options)
      : file_(file), name_(name), state_(std::make_unique<Method::State>()) {
    state_->options = options;
  }

  Expected<std::unique_ptr<Method::State>> run() {
    state_->program = TRY(pte::read_program(file_));
    state_->plan = pte::find_plan(state_->program, name_);
    if (state_->plan == nullptr) return bad_input(no_method());
    TRY(check_backends());
    TRY(find_kernels());
    TRY(check_kernel_calls());
    TRY(make_memory());
    TRY(make_slots());
    for (std::size_t i = 0; i < plan().delegates.size(); ++i) {
      state_->delegates.push_back(TRY(within(make_delegate(plan().delegates[i]), fmt::format("delegate {}", i))));
    }
    TRY(check_delegate_calls());
    TRY(check_live_tensors(*state_));
    return std::move(state_);
  }

 private:
  const pte::Plan& plan() const { return *state_->plan; }
  std::string no_method() const {
    std::string names;
    for (const pte::Plan& plan : state_->program.plans) names += (names.empty() ? "" : ", ") + shown(plan.name);
    return fmt::format("the program has no method {}, only {}", shown(name_), names);
  }

  // All that is missing in one message.
  Expected<void> find_kernels() {
    std::string missing;
    for (const pte::Operator& op : plan().operators) {
      const std::string name = host::full_name(op);
      state_->kernels.push_back(host::find_kernel(name));
      if (state_->kernels.back() == nullptr) missing += (missing.empty() ? "" : ", ") + shown(name);
    }
    if (missing.empty()) return {};
    return fail(ErrorKind::kUnsupported, fmt::format("this machine has no kernels for {}", missing));
  }
  Expected<void> check_kernel_calls() const {
    for (const pte::Chain& chain : plan().chains) {
      for (std::size_t i = 0; i < chain.instructions.size(); ++i) {
        const auto* call = std::get_if<pte::KernelCall>(&chain.instructions[i]);
        if (call == nullptr) continue;
        const host::Kernel& kernel = *state_->kernels[call->operator_index];
        if (call->args.size() == kernel.arity()) continue;
        return bad_input(fmt::format("instruction {}: {} takes {} arguments, not {}", i, kernel.name, kernel.arity(),
                                     call->args.size()));
      }
    }
    return {};
  }
  Expected<void> check_backends() const {
    std::set<std::string> others;
    for (const pte::Delegate& delegate : plan().delegates) {
      if (find_delegate_kind(delegate.id) == nullptr) others.insert(shown(delegate.id));
    }
    if (others.empty()) return {};
    std::vector<std::string_view> known;
    for (const DelegateKind& kind : delegate_kinds()) known.push_back(kind.backend);
    return fail(ErrorKind::kUnsupported,
                fmt::format("this machine cannot run delegates of {}: only those of {} run here",
                            fmt::join(others, ", "), fmt::join(known, " and ")));
  }

  Expected<std::byte*> take_memory(std::uint64_t bytes) {
    const auto total = add_sizes(state_->memory_bytes, bytes);
    if (!total || *total > state_->options.max_bytes) {
      return bad_input(fmt::format("the plan needs more than {} bytes of memory", state_->options.max_bytes));
    }
    state_->memory_bytes = *total;
    state_->memory.push_back(allocate(bytes));
    std::byte* start = state_->memory.back().start;
    if (start == nullptr) return fail(ErrorKind::kEnvironment, fmt::format("out of memory: {} bytes", bytes));
    return start;
  }
  Expected<void> make_memory() {
    arenas_.push_back(nullptr);
    for (std::size_t id = 1; id < plan().buffer_sizes.size(); ++id) {
      arenas_.push_back(TRY(take_memory(static_cast<std::uint64_t>(plan().buffer_sizes[id]))));
    }
    return {};
  }

  Expected<void> make_slots() {
    for (std::size_t i = 0; i < plan().values.size(); ++i) {
      state_->slots.push_back(
          TRY(within(std::visit([this](const auto& value) { return slot(value); }, plan().values[i]),
                     [&] { return fmt::format("value {}", i); })));
    }
    for (const pte::ValueIndex input : plan().inputs) {
      const auto* tensor = std::get_if<LiveTensor>(&state_->slots[input]);
      if (tensor == nullptr) continue;
      if (tensor->is_constant) return bad_input(fmt::format("input {} is a constant", input));
      state_->tensor_inputs.push_back(input);
      state_->inputs.push_back({tensor->dtype, tensor->sizes, tensor->is_dynamic});
    }
    for (const pte::Chain& chain : plan().chains) {
      for (const pte::Instruction& instruction : chain.instructions) {
        if (std::holds_alternative<pte::MoveCall>(instruction) || std::holds_alternative<pte::FreeCall>(instruction)) {
          state_->fresh_slots = state_->slots;
        }
      }
      if (!state_->fresh_slots.empty()) break;
    }
    return {};
  }
  template <class Value>
  Expected<Slot> slot(const Value& value) {
    return Slot(value);
  }
  Expected<Slot> slot(const pte::Tensor& tensor) {
    if (tensor.dynamism == pte::Dynamism::kUnbounded) {
      return fail(ErrorKind::kUnsupported, "a tensor without upper bounds");
    }
    const std::uint64_t bytes = *pte::byte_count(tensor);
    LiveTensor live;
    live.dtype = tensor.dtype;
    live.sizes.assign(tensor.sizes.begin(), tensor.sizes.end());
    live.dim_order = tensor.dim_order;
    live.is_dynamic = tensor.dynamism == pte::Dynamism::kBounded;
    live.is_constant = tensor.is_constant();
    live.max_elements = static_cast<std::int64_t>(bytes / size_of(tensor.dtype));
    if (tensor.is_constant()) {
      live.data = TRY(constant(state_->program.constants[tensor.data_index], bytes));
    } else if (tensor.allocation) {
      if (tensor.allocation->offset % size_of(tensor.dtype) != 0) return bad_input("a tensor that is not aligned");
      live.data = arenas_[tensor.allocation->memory_id] + tensor.allocation->offset;
      if (tensor.is_state()) write_initial_value(state_->program, tensor, arenas_[tensor.allocation->memory_id]);
    } else {
      live.data = TRY(take_memory(bytes));
    }
    return Slot(std::move(live));
  }
  // In the file, if it is aligned there and delegates may read beyond its end.
  Expected<std::byte*> constant(const Blob& blob, std::uint64_t bytes) {
    const std::byte* start = blob.bytes().data();
    const auto address = reinterpret_cast<std::uintptr_t>(start);
    const auto file = reinterpret_cast<std::uintptr_t>(file_.bytes().data());
    const bool is_inside = address >= file && address + bytes + xnnpack::kExtraBytes <= file + file_.size();
    if (is_inside && address % 16 == 0) return const_cast<std::byte*>(start);
    std::byte* copy = TRY(take_memory(bytes));
    if (bytes != 0) std::memcpy(copy, start, bytes);
    return copy;
  }

  Expected<std::unique_ptr<Delegate>> make_delegate(const pte::Delegate& delegate) {
    if (named_data_.empty()) {
      for (const pte::NamedData& data : state_->program.named_data) named_data_.emplace(data.key, data.bytes);
    }
    const auto lookup = [this](const std::string& key) -> std::optional<Blob> {
      const auto found = named_data_.find(key);
      if (found == named_data_.end()) return std::nullopt;
      return found->second;
    };
    const LoadOptions& options = state_->options;
    // Many delegates may share one small blob: all of them together get what one could have.
    const std::uint64_t left = options.max_bytes - delegate_bytes_;
    const DelegateKind* kind = find_delegate_kind(delegate.id);
    auto made = TRY(kind->load(
        delegate.blob, {options.threads, left, options.max_work, lookup, options.with_profile, options.shows_values}));
    delegate_bytes_ =
        std::min(add_sizes(delegate_bytes_, made->bytes()).value_or(options.max_bytes), options.max_bytes);
    return made;
  }

  Expected<void> check_delegate_calls() const {
    for (const pte::Chain& chain : plan().chains) {
      for (std::size_t i = 0; i < chain.instructions.size(); ++i) {
        const auto* call = std::get_if<pte::DelegateCall>(&chain.instructions[i]);
        if (call == nullptr) continue;
        TRY(within(
            within(check_arguments(state_->slots, call->args, state_->delegates[call->delegate_index]->arguments()),
                   [&] { return fmt::format("delegate {}", call->delegate_index); }),
            [&] { return fmt::format("instruction {}", i); }));
      }
    }
    return {};
  }

  const Blob& file_;
  const std::string& name_;
  std::unique_ptr<Method::State> state_;
  std::vector<std::byte*> arenas_;
  std::unordered_map<std::string, Blob> named_data_;
  std::uint64_t delegate_bytes_ = 0;
};

}  // namespace

Memory allocate(std::uint64_t bytes) {
  constexpr std::uint64_t kAlignment = 64;
  // Untouched zero pages cost nothing.
  auto* memory = static_cast<std::byte*>(std::calloc(bytes + xnnpack::kExtraBytes + kAlignment, 1));
  if (memory == nullptr) return {};
  const std::uint64_t misplaced = reinterpret_cast<std::uintptr_t>(memory) % kAlignment;
  return {std::unique_ptr<std::byte, FreeMemory>(memory), memory + (misplaced == 0 ? 0 : kAlignment - misplaced)};
}

void FreeMemory::operator()(std::byte* memory) const { std::free(memory); }

Expected<Method> Method::load(const Blob& file, const std::string& name, const LoadOptions& options) {
  return Method(TRY(Loader(file, name, options).run()));
}

Method::Method(std::unique_ptr<State> state) : state_(std::move(state)) {}
Method::Method(Method&&) noexcept = default;
Method& Method::operator=(Method&&) noexcept = default;
Method::~Method() = default;

const std::vector<TensorInfo>& Method::inputs() const { return state_->inputs; }
std::vector<StateInfo> Method::states() const {
  std::vector<StateInfo> result;
  for (const pte::Value& value : state_->plan->values) {
    const auto* tensor = std::get_if<pte::Tensor>(&value);
    if (tensor == nullptr || !tensor->is_state()) continue;
    result.push_back({tensor->name, {tensor->dtype, {tensor->sizes.begin(), tensor->sizes.end()}, false}});
  }
  return result;
}
void Method::reset() {
  const pte::Plan& plan = *state_->plan;
  for (std::size_t id = 1; id < plan.buffer_sizes.size(); ++id) {
    std::memset(state_->memory[id - 1].start, 0, static_cast<std::size_t>(plan.buffer_sizes[id]));
  }
  for (const pte::Value& value : plan.values) {
    const auto* tensor = std::get_if<pte::Tensor>(&value);
    if (tensor != nullptr && tensor->is_state()) {
      write_initial_value(state_->program, *tensor, state_->memory[tensor->allocation->memory_id - 1].start);
    }
  }
}
std::size_t Method::output_count() const { return state_->plan->outputs.size(); }
std::size_t Method::delegate_count() const { return state_->delegates.size(); }
std::uint64_t Method::memory_bytes() const { return state_->memory_bytes; }
const Statistics& Method::statistics() const { return state_->statistics; }
std::vector<OperatorTime> Method::profile() const {
  std::vector<OperatorTime> result;
  for (const auto& [place, rows] : state_->profile) result.insert(result.end(), rows.begin(), rows.end());
  return result;
}
void Method::clear_profile() { state_->profile.clear(); }

}  // namespace isthmus::run
