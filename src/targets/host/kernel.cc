// The table of host kernels.
#include "targets/host/kernel.h"

#include <algorithm>
#include <vector>

#include "targets/host/family.h"

namespace isthmus::host {
namespace {

struct Table {
  std::vector<Kernel> kernels;
  std::vector<WrittenOp> ops;
};
const Table& table() {
  static const Table kTable = [] {
    Table all;
    for (const Family& family :
         {elementwise_family(), division_family(), movement_family(), index_family(), reduce_family(), product_family(),
          image_family(), norm_family(), type_family(), primitive_family(), number_family(), copy_family()}) {
      all.kernels.insert(all.kernels.end(), family.kernels.begin(), family.kernels.end());
      all.ops.insert(all.ops.end(), family.composites.begin(), family.composites.end());
    }
    std::ranges::sort(all.kernels, {}, &Kernel::name);
    for (const Kernel& kernel : all.kernels) {
      if (kernel.written.write == nullptr) continue;
      all.ops.push_back(kernel.written);
      all.ops.back().kernel = kernel.name;
    }
    return all;
  }();
  return kTable;
}

template <class... Alternatives>
bool is(const pte::Value& value) {
  return (std::holds_alternative<Alternatives>(value) || ...);
}

bool is_of(const pte::Value& value, char kind) {
  switch (kind) {
    case 't':
      return is<pte::Tensor>(value);
    case 'o':
      return is<pte::Tensor, pte::None>(value);
    case 'q':
      return is<pte::OptionalTensorList>(value);
    case 'l':
      return is<pte::TensorList>(value);
    case 'n':
      return is<std::int64_t, double, bool>(value);
    case 'm':
      return is<std::int64_t, double, bool, pte::None>(value);
    case 'i':
    case 'e':
      return is<std::int64_t>(value);
    case 'j':
    case 'f':
      return is<std::int64_t, pte::None>(value);
    case 'r':
      return is<double>(value);
    case 'b':
      return is<bool>(value);
    case 's':
      return is<std::string>(value);
    case 'I':
      return is<pte::IntList>(value);
    case 'J':
      return is<pte::IntList, pte::None>(value);
    default:
      return kind == 'R' && is<pte::DoubleList, pte::None>(value);
  }
}

bool is_state(const pte::Plan& plan, pte::ValueIndex value) {
  const auto* tensor = std::get_if<pte::Tensor>(&plan.values[value]);
  return tensor != nullptr && tensor->is_state();
}

// Whether a call copies the value to a state.
bool is_written_back(const pte::Plan& plan, pte::ValueIndex value) {
  for (const pte::Chain& chain : plan.chains) {
    for (const pte::Instruction& instruction : chain.instructions) {
      const auto* call = std::get_if<pte::KernelCall>(&instruction);
      if (call == nullptr || call->args.size() < 2 || call->args[1] != value || !is_state(plan, call->args[0]))
        continue;
      const Kernel* kernel = find_kernel(full_name(plan.operators[call->operator_index]));
      if (kernel != nullptr && kernel->io_role == IoRole::kWritesBack) return true;
    }
  }
  return false;
}

}  // namespace

std::span<const Kernel> kernels() { return table().kernels; }

const Kernel* find_kernel(std::string_view name) {
  const auto found = std::ranges::lower_bound(kernels(), name, {}, &Kernel::name);
  return found == kernels().end() || found->name != name ? nullptr : &*found;
}

std::span<const WrittenOp> written_ops() { return table().ops; }

const WrittenOp* find_written_op(Op op) {
  const auto found = std::ranges::find(written_ops(), op, &WrittenOp::op);
  return found == written_ops().end() ? nullptr : &*found;
}

bool fits(const Kernel& kernel, const pte::Plan& plan, std::span<const pte::ValueIndex> args) {
  if (args.size() != kernel.arity()) return false;
  for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
    if (!is_of(plan.values[args[i]], kernel.arguments[i])) return false;
  }
  const auto results = args.subspan(kernel.arguments.size());
  if (kernel.writes_first) return results[0] == args[0];
  if (kernel.outs == 0) return is<std::int64_t, double, bool, pte::Tensor>(plan.values[results[0]]);
  if (kernel.writes_list) return results[0] == results[1] && is<pte::TensorList>(plan.values[results[0]]);
  for (std::size_t i = 0; i < kernel.outs; ++i) {
    if (!is<pte::Tensor>(plan.values[results[i]])) return false;
  }
  return kernel.outs == 1 ? results[0] == results[1] : is<pte::TensorList>(plan.values[results.back()]);
}

std::string full_name(const pte::Operator& op) { return op.overload.empty() ? op.name : op.name + "." + op.overload; }

pte::Operator operator_of(std::string_view name) {
  const std::size_t dot = std::min(name.rfind('.'), name.size());
  return {std::string(name.substr(0, dot)), std::string(name.substr(std::min(dot + 1, name.size())))};
}

bool is_io_call(const pte::Plan& plan, const Kernel& kernel, std::span<const pte::ValueIndex> args) {
  if (kernel.io_role == IoRole::kNone || args.size() != kernel.arity()) return false;
  const auto is_in = [](const std::vector<pte::ValueIndex>& list, pte::ValueIndex value) {
    return std::ranges::find(list, value) != list.end();
  };
  switch (kernel.io_role) {
    case IoRole::kNone:
      break;
    case IoRole::kQuantizes:
      return is_in(plan.inputs, args.front()) || is_state(plan, args.front());
    case IoRole::kDequantizes:
      return is_in(plan.outputs, args.back()) || is_state(plan, args.back()) || is_written_back(plan, args.back());
    case IoRole::kWritesBack:
      return is_in(plan.inputs, args.front()) || is_state(plan, args.front());
  }
  return false;
}

}  // namespace isthmus::host
