// Compares ranges of addresses.
#include "program/run/overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace isthmus::run {
namespace {

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool operator==(const Range&) const = default;
};

// Where a tensor may write, at its upper bounds. Nothing for other values, and for tensors of no bytes.
std::optional<Range> range_of(const Slot& slot) {
  const auto* tensor = std::get_if<LiveTensor>(&slot);
  if (tensor == nullptr || tensor->data == nullptr || tensor->max_elements == 0) return std::nullopt;
  const auto begin = reinterpret_cast<std::uintptr_t>(tensor->data);
  return Range{begin, begin + static_cast<std::uint64_t>(tensor->max_elements) * size_of(tensor->dtype)};
}

}  // namespace

LiveTensors::LiveTensors(const Method::State& state)
    : state_(state), same_(state.slots.size()), is_defined_(state.slots.size(), false) {
  for (const pte::ValueIndex input : state_.tensor_inputs) write(input);
  each_state([&](pte::ValueIndex i) { write(i); });
}

Expected<void> LiveTensors::step(const pte::Instruction& instruction) {
  return std::visit([this](const auto& call) { return step(call); }, instruction);
}

Expected<void> LiveTensors::end() {
  Expected<void> kept;
  const auto keep = [&](std::string_view what, pte::ValueIndex i) {
    if (kept) kept = within(read(i), [&] { return fmt::format("{} {}", what, i); });
  };
  for (const pte::ValueIndex output : state_.plan->outputs) keep("output", output);
  each_state([&](pte::ValueIndex i) { keep("state", i); });
  return kept;
}

// The tensors that a value is, or that are in its list.
template <class Visit>
void LiveTensors::each_tensor(pte::ValueIndex index, Visit visit) const {
  const Slot& slot = state_.slots[index];
  if (const auto* list = std::get_if<pte::TensorList>(&slot)) {
    for (const pte::ValueIndex item : list->items) visit(item);
  } else if (const auto* optional = std::get_if<pte::OptionalTensorList>(&slot)) {
    for (const auto& item : optional->items) {
      if (item) visit(*item);
    }
  } else {
    visit(index);
  }
}

template <class Visit>
void LiveTensors::each_state(Visit visit) const {
  for (pte::ValueIndex i = 0; i < state_.plan->values.size(); ++i) {
    const auto* tensor = std::get_if<pte::Tensor>(&state_.plan->values[i]);
    if (tensor != nullptr && tensor->is_state()) visit(i);
  }
}

Expected<void> LiveTensors::read(pte::ValueIndex index) {
  const auto range = range_of(state_.slots[index]);
  if (!range || !is_defined_[index]) return {};
  auto piece = pieces_.upper_bound(range->begin);
  if (piece != pieces_.begin()) --piece;
  for (; piece != pieces_.end() && piece->first < range->end; ++piece) {
    if (piece->second.end <= range->begin || same_.find(piece->second.writer) == same_.find(index)) continue;
    return bad_input(fmt::format("value {} is read, but value {} was written over it: their memory overlaps", index,
                                 piece->second.writer));
  }
  return {};
}

void LiveTensors::write(pte::ValueIndex index) {
  const auto range = range_of(state_.slots[index]);
  if (!range) return;
  is_defined_[index] = true;
  cut(range->begin);
  cut(range->end);
  pieces_.erase(pieces_.lower_bound(range->begin), pieces_.lower_bound(range->end));
  pieces_[range->begin] = {range->end, index};
}

// No piece lies on both sides of it afterwards.
void LiveTensors::cut(std::uintptr_t at) {
  auto piece = pieces_.lower_bound(at);
  if (piece == pieces_.begin()) return;
  --piece;
  if (piece->second.end <= at) return;
  pieces_[at] = piece->second;
  piece->second.end = at;
}

Expected<void> LiveTensors::call(std::span<const pte::ValueIndex> reads, std::span<const pte::ValueIndex> writes) {
  std::vector<pte::ValueIndex> read_here;
  Expected<void> result;
  for (const pte::ValueIndex value : reads) {
    each_tensor(value, [&](pte::ValueIndex index) {
      read_here.push_back(index);
      if (result) result = read(index);
    });
  }
  TRY(std::move(result));
  std::map<std::uintptr_t, pte::ValueIndex> starts;
  for (const pte::ValueIndex value : read_here) {
    if (const auto range = range_of(state_.slots[value])) starts[range->begin] = value;
  }
  for (const pte::ValueIndex value : writes) {
    each_tensor(value, [&](pte::ValueIndex index) {
      const auto range = range_of(state_.slots[index]);
      if (!range) return;
      const auto found = starts.find(range->begin);
      if (found != starts.end() && range_of(state_.slots[found->second]) == range) same_.join(found->second, index);
      write(index);
    });
  }
  return {};
}

Expected<void> LiveTensors::step(const pte::KernelCall& call) {
  const host::Kernel& kernel = *state_.kernels[call.operator_index];
  const std::span<const pte::ValueIndex> args = call.args;
  const auto reads = args.first(kernel.arguments.size());
  if (kernel.writes_first) return this->call(reads, args.first(1));
  return this->call(reads, kernel.outs == 0 ? args.last(1) : args.subspan(kernel.arguments.size(), kernel.outs));
}

Expected<void> LiveTensors::step(const pte::DelegateCall& call) {
  const std::span<const ArgumentUse> uses = state_.delegates[call.delegate_index]->arguments();
  std::vector<pte::ValueIndex> reads, writes;
  for (std::size_t i = 0; i < std::min(uses.size(), call.args.size()); ++i) {
    if (uses[i] == ArgumentUse::kRead) reads.push_back(call.args[i]);
    if (uses[i] == ArgumentUse::kWritten) writes.push_back(call.args[i]);
  }
  return this->call(reads, writes);
}

// The value is what the other one is.
Expected<void> LiveTensors::step(const pte::MoveCall& call) {
  is_defined_[call.to] = is_defined_[call.from];
  if (is_defined_[call.from]) same_.join(call.from, call.to);
  return {};
}

Expected<void> LiveTensors::step(const pte::FreeCall& call) {
  is_defined_[call.value] = false;
  return {};
}

Expected<void> LiveTensors::step(const pte::JumpFalseCall& call) { return read(call.condition); }

bool is_straight(const pte::Plan& plan) {
  return std::ranges::all_of(plan.chains, [](const pte::Chain& chain) {
    return std::ranges::all_of(chain.instructions, [](const pte::Instruction& instruction) {
      return std::holds_alternative<pte::KernelCall>(instruction) ||
             std::holds_alternative<pte::DelegateCall>(instruction);
    });
  });
}

Expected<void> check_arguments(std::span<const Slot> slots, std::span<const pte::ValueIndex> args,
                               std::span<const ArgumentUse> uses) {
  struct Argument {
    Range range;
    std::size_t number;
    bool is_written;
  };
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < std::min(uses.size(), args.size()); ++i) {
    const auto range = range_of(slots[args[i]]);
    if (range && uses[i] != ArgumentUse::kNone) arguments.push_back({*range, i, uses[i] == ArgumentUse::kWritten});
  }
  std::ranges::sort(arguments, {}, [](const Argument& argument) { return argument.range.begin; });
  // Of those before, the one that reaches furthest, and that among the written ones.
  const Argument* furthest = nullptr;
  const Argument* written = nullptr;
  for (const Argument& argument : arguments) {
    const Argument* other = argument.is_written ? furthest : written;
    if (other != nullptr && argument.range.begin < other->range.end) {
      return bad_input(fmt::format("arguments {} and {} overlap in memory, and it writes {}",
                                   std::min(other->number, argument.number), std::max(other->number, argument.number),
                                   argument.is_written ? argument.number : other->number));
    }
    if (furthest == nullptr || argument.range.end > furthest->range.end) furthest = &argument;
    if (argument.is_written && (written == nullptr || argument.range.end > written->range.end)) written = &argument;
  }
  return {};
}

Expected<void> check_live_tensors(const Method::State& state) {
  if (!is_straight(*state.plan)) return {};
  LiveTensors live(state);
  for (const pte::Chain& chain : state.plan->chains) {
    for (std::size_t i = 0; i < chain.instructions.size(); ++i) {
      TRY(within(live.step(chain.instructions[i]), [&] { return fmt::format("instruction {}", i); }));
    }
  }
  return live.end();
}

}  // namespace isthmus::run
