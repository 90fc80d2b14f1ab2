// Holds a program against the rules of its format: every index, size, place and order.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>

#include "base/untrusted_text.h"
#include "formats/executorch/pte.h"

namespace isthmus::pte {
namespace {

constexpr std::size_t kMaxDimensions = 16;
constexpr std::size_t kMaxArguments = 8192;
constexpr std::uint64_t kMaxTensorBytes = std::uint64_t{1} << 40;
// With its overload; a longer name does not fit the runtime's lookup.
constexpr std::size_t kMaxOperatorName = 99;

// One plan, and what of the program it refers to.
class PlanVerifier {
 public:
  PlanVerifier(const Program& program, const Plan& plan) : program_(program), plan_(plan) {}

  Expected<void> run() const {
    for (const std::int64_t size : plan_.buffer_sizes) {
      if (size < 0) return bad_input(fmt::format("a buffer of {} bytes", size));
    }
    for (std::size_t i = 0; i < plan_.values.size(); ++i) {
      TRY(within(std::visit([&](const auto& value) { return check(value, i); }, plan_.values[i]),
                 [&] { return fmt::format("value {}", i); }));
    }
    TRY(within(check_indices(plan_.inputs), std::string("the inputs")));
    TRY(within(check_indices(plan_.outputs), std::string("the outputs")));
    for (const Operator& op : plan_.operators) {
      if (op.name.empty() || op.name.size() + 1 + op.overload.size() > kMaxOperatorName) {
        return bad_input(fmt::format("an operator's name is empty or longer than {} characters", kMaxOperatorName));
      }
    }
    for (const Chain& chain : plan_.chains) {
      for (std::size_t i = 0; i < chain.instructions.size(); ++i) {
        TRY(within(std::visit([&](const auto& call) { return check(call, chain); }, chain.instructions[i]),
                   [&] { return fmt::format("instruction {}", i); }));
      }
    }
    return {};
  }

 private:
  template <class Scalar>
  Expected<void> check(const Scalar&, std::size_t) const {
    return {};
  }
  Expected<void> check(const Tensor& tensor, std::size_t) const {
    const std::size_t rank = tensor.sizes.size();
    if (rank > kMaxDimensions) return bad_input(fmt::format("a tensor of {} dimensions", rank));
    if (tensor.dim_order.size() != rank) {
      return bad_input(fmt::format("{} sizes, but a dimension order of {}", rank, tensor.dim_order.size()));
    }
    std::uint32_t seen = 0;
    for (const std::uint8_t axis : tensor.dim_order) {
      if (axis >= rank || (seen >> axis & 1u) != 0) return bad_input("the dimension order is not a permutation");
      seen |= 1u << axis;
    }
    const auto bytes = byte_count(tensor);
    if (!bytes) return bad_input("the sizes of a tensor are negative or overflow");
    if (tensor.allocation) TRY(check_allocation(*tensor.allocation, *bytes));
    if (tensor.data_index == 0) return {};
    const std::vector<Blob>& table = tensor.allocation ? program_.initial_values : program_.constants;
    if (tensor.data_index >= table.size()) {
      return bad_input(fmt::format("constant {} of {}", tensor.data_index, table.size()));
    }
    if (table[tensor.data_index].size() < *bytes) {
      return bad_input(fmt::format("constant {} has {} bytes, the tensor needs {}", tensor.data_index,
                                   table[tensor.data_index].size(), *bytes));
    }
    return {};
  }
  Expected<void> check_allocation(const Allocation& allocation, std::uint64_t bytes) const {
    if (allocation.memory_id == 0 || allocation.memory_id >= plan_.buffer_sizes.size()) {
      return bad_input(fmt::format("memory {}; the plan has {}", allocation.memory_id, plan_.buffer_sizes.size()));
    }
    const auto end = add_sizes(allocation.offset, bytes);
    const auto size = static_cast<std::uint64_t>(plan_.buffer_sizes[allocation.memory_id]);
    if (!end || *end > size) {
      return bad_input(fmt::format("{} bytes at {} reach past the {} bytes of memory {}", bytes, allocation.offset,
                                   size, allocation.memory_id));
    }
    return {};
  }
  Expected<void> check(const IntList& list, std::size_t) const {
    for (const ValueIndex item : list.items) {
      if (item >= plan_.values.size() || !std::holds_alternative<std::int64_t>(plan_.values[item])) {
        return bad_input(fmt::format("{} in a list of integers is not an integer", item));
      }
    }
    return {};
  }
  Expected<void> check(const TensorList& list, std::size_t index) const {
    for (const ValueIndex item : list.items) {
      if (item >= index || !std::holds_alternative<Tensor>(plan_.values[item])) {
        return bad_input(fmt::format("{} in a list of tensors is not a tensor before it", item));
      }
    }
    return {};
  }
  Expected<void> check(const OptionalTensorList& list, std::size_t index) const {
    for (const std::optional<ValueIndex> item : list.items) {
      if (item && (*item >= index || !(std::holds_alternative<Tensor>(plan_.values[*item]) ||
                                       std::holds_alternative<None>(plan_.values[*item])))) {
        return bad_input(fmt::format("{} in a list of tensors is not a tensor before it", *item));
      }
    }
    return {};
  }

  Expected<void> check_index(ValueIndex index) const {
    if (index < plan_.values.size()) return {};
    return bad_input(fmt::format("value {} of {}", index, plan_.values.size()));
  }
  Expected<void> check_indices(const std::vector<ValueIndex>& indices) const {
    if (indices.size() > kMaxArguments) return bad_input(fmt::format("{} arguments", indices.size()));
    for (const ValueIndex index : indices) TRY(check_index(index));
    return {};
  }
  Expected<void> check(const KernelCall& call, const Chain&) const {
    if (call.operator_index >= plan_.operators.size()) {
      return bad_input(fmt::format("operator {} of {}", call.operator_index, plan_.operators.size()));
    }
    return check_indices(call.args);
  }
  Expected<void> check(const DelegateCall& call, const Chain&) const {
    if (call.delegate_index >= plan_.delegates.size()) {
      return bad_input(fmt::format("delegate {} of {}", call.delegate_index, plan_.delegates.size()));
    }
    return check_indices(call.args);
  }
  Expected<void> check(const MoveCall& call, const Chain&) const {
    TRY(check_index(call.from));
    return check_index(call.to);
  }
  Expected<void> check(const JumpFalseCall& call, const Chain& chain) const {
    if (call.destination > chain.instructions.size()) {
      return bad_input(fmt::format("a jump to {} of {}", call.destination, chain.instructions.size()));
    }
    return check_index(call.condition);
  }
  Expected<void> check(const FreeCall& call, const Chain&) const { return check_index(call.value); }

  const Program& program_;
  const Plan& plan_;
};

}  // namespace

std::optional<std::uint64_t> byte_count(const Tensor& tensor) {
  std::uint64_t bytes = size_of(tensor.dtype);
  bool is_empty = false;
  for (const std::int32_t size : tensor.sizes) {
    if (size < 0) return std::nullopt;
    if (size == 0) is_empty = true;
    // A size of 0 does not excuse an overflow: a dynamic tensor's other sizes must make sense too.
    const auto product = multiply_sizes(bytes, std::max<std::uint64_t>(static_cast<std::uint64_t>(size), 1));
    if (!product || *product > kMaxTensorBytes) return std::nullopt;
    bytes = *product;
  }
  return is_empty ? 0 : bytes;
}

const Plan* find_plan(const Program& program, std::string_view name) {
  const auto found = std::ranges::find(program.plans, name, &Plan::name);
  return found == program.plans.end() ? nullptr : &*found;
}

Expected<void> verify(const Program& program) {
  if (program.plans.empty()) return bad_input("the program has no plan");
  std::set<std::string_view> names;
  for (const Plan& plan : program.plans) {
    if (plan.name.empty() || !names.insert(plan.name).second) return bad_input("plans without unique names");
    TRY(within(PlanVerifier(program, plan).run(), [&] { return "plan " + shown(plan.name); }));
  }
  names.clear();
  for (const NamedData& data : program.named_data) {
    if (!names.insert(data.key).second) return bad_input(fmt::format("{} names two data", shown(data.key)));
  }
  for (const std::vector<Blob>* table : {&program.constants, &program.initial_values}) {
    if (!table->empty() && table->front().size() != 0) return bad_input("constant 0 is reserved and has bytes");
  }
  return {};
}

}  // namespace isthmus::pte
