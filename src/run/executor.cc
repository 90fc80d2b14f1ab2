// Runs a method: inputs in, instructions, outputs out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "run/state.h"

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

bool fits(DType dtype, const xnnpack::External& external) {
  const bool is_widened = dtype == DType::kI64 && external.role == xnn::Role::kOutput;
  if (external.datatype == xnn::DataType::kF32) return dtype == DType::kF32;
  if (external.datatype == xnn::DataType::kQI8) return dtype == DType::kI8;
  if (external.datatype == xnn::DataType::kQU8) return dtype == DType::kU8;
  return external.datatype == xnn::DataType::kI32 && (dtype == DType::kI32 || is_widened);
}

class Executor {
 public:
  explicit Executor(Method::State& state) : state_(state) {}

  Expected<void> run() {
    std::uint64_t left = state_.options.most_instructions;
    for (const pte::Chain& chain : state_.plan->chains) {
      std::size_t next = 0;
      while (next < chain.instructions.size()) {
        if (left-- == 0) {
          return bad_input(fmt::format("the program takes more than {} steps", state_.options.most_instructions));
        }
        const std::size_t at = next++;
        const auto jump =
            TRY(within(std::visit([this](const auto& call) { return step(call); }, chain.instructions[at]),
                       [&] { return fmt::format("instruction {}", at); }));
        if (jump) next = *jump;
      }
    }
    return {};
  }

 private:
  using Jump = std::optional<std::uint32_t>;

  Expected<Jump> step(const pte::KernelCall& call) {
    const HostKernel& kernel = *state_.kernels[call.operator_index];
    if (call.args.size() != kernel.arity) {
      return bad_input(fmt::format("{} takes {} arguments, not {}", kernel.name, kernel.arity, call.args.size()));
    }
    ++state_.statistics.host_calls;
    if (is_border_call(*state_.plan, kernel, call.args)) ++state_.statistics.border_calls;
    const Stopwatch stopwatch(state_.statistics.host_seconds);
    HostCall host_call(state_.slots, call.args, state_.options.most_bytes);
    TRY(within(kernel.run(host_call), [&] { return std::string(kernel.name); }));
    return Jump();
  }

  Expected<Jump> step(const pte::DelegateCall& call) {
    ++state_.statistics.delegate_calls;
    const Stopwatch stopwatch(state_.statistics.delegate_seconds);
    TRY(within(run_delegate(call), [&] { return fmt::format("delegate {}", call.delegate_index); }));
    return Jump();
  }
  Expected<void> run_delegate(const pte::DelegateCall& call) {
    xnnpack::Runtime& runtime = state_.delegates[call.delegate_index];
    const auto& externals = runtime.externals();
    if (call.args.size() < externals.size()) {
      return bad_input(fmt::format("it takes {} arguments, not {}", externals.size(), call.args.size()));
    }
    std::vector<xnnpack::Dims> shapes(externals.size());
    std::vector<std::byte*> buffers(externals.size(), nullptr);
    for (std::size_t i = 0; i < externals.size(); ++i) {
      if (externals[i].role == xnn::Role::kInternal) continue;
      const auto* tensor = std::get_if<LiveTensor>(&state_.slots[call.args[i]]);
      if (tensor == nullptr || !fits(tensor->dtype, externals[i])) {
        return bad_input(fmt::format("argument {} is no tensor of {}", i, xnn::name_of(externals[i].datatype)));
      }
      if (tensor->data == nullptr) return bad_input(fmt::format("argument {} was freed", i));
      if (tensor->is_constant && externals[i].role == xnn::Role::kOutput) {
        return bad_input(fmt::format("argument {} is a constant and would be written", i));
      }
      if (externals[i].role == xnn::Role::kInput) {
        shapes[i] = tensor->memory_sizes();
        if (is_scalar_of(*tensor, externals[i].dims)) shapes[i] = {1};
      }
      buffers[i] = tensor->data;
    }
    shapes = TRY(runtime.reshape(shapes));
    for (std::size_t i = 0; i < externals.size(); ++i) {
      if (externals[i].role != xnn::Role::kOutput) continue;
      auto& tensor = std::get<LiveTensor>(state_.slots[call.args[i]]);
      TRY(within(resize_in_memory_order(tensor, shapes[i]), [&] { return fmt::format("argument {}", i); }));
    }
    TRY(runtime.run(buffers));
    for (std::size_t i = 0; i < externals.size(); ++i) {
      if (externals[i].datatype == xnn::DataType::kI32) widen(std::get<LiveTensor>(state_.slots[call.args[i]]));
    }
    return {};
  }
  // Writers of delegates give a tensor without axes one.
  static bool is_scalar_of(const LiveTensor& tensor, const xnnpack::Dims& dims) {
    return tensor.sizes.empty() && dims.size() == 1;
  }
  static Expected<void> resize_in_memory_order(LiveTensor& tensor, const xnnpack::Dims& dims) {
    if (is_scalar_of(tensor, dims) && dims[0] == 1) return {};
    if (dims.size() != tensor.sizes.size()) {
      return bad_input(fmt::format("{} for a tensor of {} axes", xnnpack::text_of(dims), tensor.sizes.size()));
    }
    std::vector<std::int64_t> sizes(dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i) sizes[tensor.dim_order[i]] = static_cast<std::int64_t>(dims[i]);
    return resize(tensor, sizes);
  }
  // The delegate wrote 32-bit integers where the program has 64-bit ones.
  static void widen(LiveTensor& tensor) {
    if (tensor.dtype != DType::kI64) return;
    for (std::int64_t i = tensor.count(); i-- > 0;) {
      std::int32_t narrow = 0;
      std::memcpy(&narrow, tensor.data + i * 4, sizeof(narrow));
      const std::int64_t wide = narrow;
      std::memcpy(tensor.data + i * 8, &wide, sizeof(wide));
    }
  }

  Expected<Jump> step(const pte::MoveCall& call) {
    state_.slots[call.to] = state_.slots[call.from];
    return Jump();
  }
  Expected<Jump> step(const pte::JumpFalseCall& call) {
    const Slot& condition = state_.slots[call.condition];
    bool is_true = true;
    if (const auto* truth = std::get_if<bool>(&condition)) {
      is_true = *truth;
    } else if (const auto* tensor = std::get_if<LiveTensor>(&condition); tensor && tensor->dtype == DType::kBool) {
      const Tensor elements = TRY(read(*tensor));
      is_true = std::ranges::all_of(elements.bytes(), [](std::byte b) { return b != std::byte{0}; });
    } else {
      return bad_input("the condition of a jump is no bool");
    }
    return is_true ? Jump() : Jump(call.destination);
  }
  Expected<Jump> step(const pte::FreeCall& call) {
    if (auto* tensor = std::get_if<LiveTensor>(&state_.slots[call.value])) tensor->data = nullptr;
    return Jump();
  }

  Method::State& state_;
};

// A copy, as the memory is the method's and the next run writes it again.
Expected<Tensor> copy_of(const LiveTensor& tensor) {
  const Tensor elements = TRY(read(tensor));
  Tensor result(elements.dtype(), elements.sizes());
  if (elements.count() != 0) std::ranges::copy(elements.bytes(), result.mutable_bytes().begin());
  return result;
}

template <class Number>
Tensor scalar(DType dtype, Number number) {
  Tensor result(dtype, {});
  result.mutable_data<Number>()[0] = number;
  return result;
}

}  // namespace

Expected<void> execute(Method::State& state) { return Executor(state).run(); }

Expected<std::vector<std::optional<Tensor>>> Method::run(std::span<const Tensor> inputs) {
  State& state = *state_;
  if (inputs.size() != state.tensor_inputs.size()) {
    return bad_input(
        fmt::format("the method has {} inputs and {} were given", state.tensor_inputs.size(), inputs.size()));
  }
  if (!state.fresh_slots.empty()) state.slots = state.fresh_slots;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto* tensor = std::get_if<LiveTensor>(&state.slots[state.tensor_inputs[i]]);
    if (tensor == nullptr) return bad_input(fmt::format("input {} is no tensor any more", i));
    TRY(within(write(*tensor, inputs[i]), [&] { return fmt::format("input {}", i); }));
  }
  TRY(execute(state));
  std::vector<std::optional<Tensor>> outputs;
  for (const pte::ValueIndex output : state.plan->outputs) {
    const Slot& slot = state.slots[output];
    if (const auto* tensor = std::get_if<LiveTensor>(&slot)) {
      outputs.emplace_back(TRY(copy_of(*tensor)));
    } else if (const auto* integer = std::get_if<std::int64_t>(&slot)) {
      outputs.emplace_back(scalar(DType::kI64, *integer));
    } else if (const auto* number = std::get_if<double>(&slot)) {
      outputs.emplace_back(scalar(DType::kF64, *number));
    } else if (const auto* truth = std::get_if<bool>(&slot)) {
      outputs.emplace_back(scalar(DType::kBool, static_cast<std::uint8_t>(*truth ? 1 : 0)));
    } else {
      outputs.emplace_back();
    }
  }
  return outputs;
}

}  // namespace isthmus::run
