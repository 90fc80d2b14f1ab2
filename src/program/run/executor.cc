// Runs a method: inputs in, instructions, outputs out.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/counts.h"
#include "program/run/overlap.h"
#include "program/run/state.h"
#include "targets/host/running_call.h"

namespace isthmus::run {
namespace {

// Adds the time until its end to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds), start_(std::chrono::steady_clock::now()) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_;
};

class Executor {
 public:
  Executor(Method::State& state, const anatomy::Show& show) : state_(state), show_(show) {
    if (!is_straight(*state.plan)) live_.emplace(state);
  }

  Expected<void> run() {
    std::uint64_t left = state_.options.max_instructions;
    for (std::size_t i = 0; i < state_.plan->chains.size(); ++i) {
      const pte::Chain& chain = state_.plan->chains[i];
      std::size_t next = 0;
      while (next < chain.instructions.size()) {
        if (left-- == 0) {
          return bad_input(fmt::format("the program takes more than {} steps", state_.options.max_instructions));
        }
        const std::size_t at = next++;
        place_ = {i, at};
        const auto jump = TRY(within(step(chain.instructions[at]), [&] { return fmt::format("instruction {}", at); }));
        if (jump) next = *jump;
      }
    }
    return live_ ? live_->end() : Expected<void>();
  }

 private:
  using Jump = std::optional<std::uint32_t>;

  Expected<Jump> step(const pte::Instruction& instruction) {
    if (live_) TRY(live_->step(instruction));
    return std::visit([this](const auto& call) { return step(call); }, instruction);
  }

  Expected<Jump> step(const pte::KernelCall& call) {
    const host::Kernel& kernel = *state_.kernels[call.operator_index];
    ++state_.statistics.host_calls;
    if (is_io_call(*state_.plan, kernel, call.args)) ++state_.statistics.io_calls;
    const double before = state_.statistics.host_seconds;
    {
      const Stopwatch stopwatch(state_.statistics.host_seconds);
      host::RunningCall host_call(state_.slots, call.args, state_.options.max_bytes);
      TRY(within(kernel.run(host_call), [&] { return std::string(kernel.name); }));
    }
    if (show_) TRY(show_results(kernel, call.args));
    if (state_.options.with_profile) {
      add_times({{std::nullopt, std::string(kernel.name), state_.statistics.host_seconds - before}});
    }
    return Jump();
  }

  Expected<Jump> step(const pte::DelegateCall& call) {
    ++state_.statistics.delegate_calls;
    const double before = state_.statistics.delegate_seconds;
    Delegate& delegate = *state_.delegates[call.delegate_index];
    const auto name = [&] { return fmt::format("delegate {}", call.delegate_index); };
    // Where nothing moves, the loader has seen it.
    if (!state_.fresh_slots.empty()) TRY(within(check_arguments(state_.slots, call.args, delegate.arguments()), name));
    {
      const Stopwatch stopwatch(state_.statistics.delegate_seconds);
      TRY(within(show_ ? delegate.run_shown(state_.slots, call.args, inside()) : delegate.run(state_.slots, call.args),
                 name));
    }
    if (!state_.options.with_profile) return Jump();
    std::vector<OperatorTime> times = TRY(within(delegate.profile(), name));
    if (times.empty()) {
      const double seconds = state_.statistics.delegate_seconds - before;
      times.push_back({std::nullopt, state_.plan->delegates[call.delegate_index].id, seconds});
    }
    for (OperatorTime& time : times) time.delegate = call.delegate_index;
    add_times(std::move(times));
    return Jump();
  }

  // What a delegate shows of its own graph.
  ShowValue inside() const {
    return [this](std::uint32_t value, const Tensor& elements) {
      show_({place_.first, place_.second, value}, elements);
    };
  }

  Expected<void> show_results(const host::Kernel& kernel, std::span<const pte::ValueIndex> args) const {
    const auto outs = kernel.writes_first ? args.first(1) : args.subspan(kernel.arguments.size(), kernel.outs);
    std::uint32_t number = 0;
    for (const pte::ValueIndex out : outs) {
      const auto* list = std::get_if<pte::TensorList>(&state_.slots[out]);
      const std::vector<pte::ValueIndex> items = list == nullptr ? std::vector{out} : list->items;
      for (const pte::ValueIndex item : items) {
        const auto* tensor = std::get_if<LiveTensor>(&state_.slots[item]);
        if (tensor == nullptr) continue;
        show_({place_.first, place_.second, number++}, TRY(read(in_memory_order(*tensor))));
      }
    }
    return {};
  }

  // Of the instruction that has just run. A delegate has the same operators in every run.
  void add_times(std::vector<OperatorTime> times) {
    std::vector<OperatorTime>& sums = state_.profile[place_];
    if (sums.size() != times.size()) {
      sums = std::move(times);
      return;
    }
    for (std::size_t i = 0; i < times.size(); ++i) sums[i].seconds += times[i].seconds;
  }

  Expected<Jump> step(const pte::MoveCall& call) {
    state_.slots[call.to] = state_.slots[call.from];
    return Jump();
  }
  Expected<Jump> step(const pte::JumpFalseCall& call) {
    const Slot& condition = state_.slots[call.condition];
    bool is_true = true;
    if (const auto* boolean = std::get_if<bool>(&condition)) {
      is_true = *boolean;
    } else if (const auto* tensor = std::get_if<LiveTensor>(&condition); tensor && tensor->dtype == DType::kBool) {
      const Tensor elements = TRY(read(*tensor));
      is_true = std::ranges::all_of(elements.bytes(), [](std::byte b) { return b != std::byte{0}; });
    } else {
      return bad_input("the condition of a jump is not a bool");
    }
    return is_true ? Jump() : Jump(call.destination);
  }
  Expected<Jump> step(const pte::FreeCall& call) {
    if (auto* tensor = std::get_if<LiveTensor>(&state_.slots[call.value])) tensor->data = nullptr;
    return Jump();
  }

  Method::State& state_;
  const anatomy::Show& show_;
  std::optional<LiveTensors> live_;            // of a plan that is not straight; the loader has seen all of others
  std::pair<std::size_t, std::size_t> place_;  // chain and instruction
};

// A copy, as the memory is the method's and the next run writes it again.
Expected<Tensor> copy_of(const LiveTensor& tensor) {
  const Tensor elements = TRY(read(tensor));
  Tensor result(elements.dtype(), elements.sizes());
  if (elements.count() != 0) std::ranges::copy(elements.bytes(), result.mutable_bytes().begin());
  return result;
}

template <class Number>
Tensor tensor_of(DType dtype, Number number) {
  Tensor result(dtype, {});
  result.mutable_data<Number>()[0] = number;
  return result;
}

}  // namespace

Expected<void> execute(Method::State& state, const anatomy::Show& show) { return Executor(state, show).run(); }

Expected<std::vector<std::optional<Tensor>>> Method::run(std::span<const Tensor> inputs, const anatomy::Show& show) {
  State& state = *state_;
  if (inputs.size() != state.tensor_inputs.size()) {
    return bad_input(
        fmt::format("the method takes {}, {} given", counted(state.tensor_inputs.size(), "input"), inputs.size()));
  }
  if (!state.fresh_slots.empty()) state.slots = state.fresh_slots;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto* tensor = std::get_if<LiveTensor>(&state.slots[state.tensor_inputs[i]]);
    if (tensor == nullptr) return bad_input(fmt::format("input {} is no longer a tensor", i));
    TRY(within(write(*tensor, inputs[i]), [&] { return fmt::format("input {}", i); }));
  }
  TRY(execute(state, show));
  std::vector<std::optional<Tensor>> outputs;
  for (const pte::ValueIndex output : state.plan->outputs) {
    const Slot& slot = state.slots[output];
    if (const auto* tensor = std::get_if<LiveTensor>(&slot)) {
      outputs.emplace_back(TRY(copy_of(*tensor)));
    } else if (const auto* integer = std::get_if<std::int64_t>(&slot)) {
      outputs.emplace_back(tensor_of(DType::kI64, *integer));
    } else if (const auto* number = std::get_if<double>(&slot)) {
      outputs.emplace_back(tensor_of(DType::kF64, *number));
    } else if (const auto* boolean = std::get_if<bool>(&slot)) {
      outputs.emplace_back(tensor_of(DType::kBool, static_cast<std::uint8_t>(*boolean ? 1 : 0)));
    } else {
      outputs.emplace_back();
    }
  }
  return outputs;
}

}  // namespace isthmus::run
