// Arguments of host kernels, and the way to the reference kernels.
#include "targets/host/running_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/executorch/pte_element_types.h"
#include "interpret/kernel.h"
#include "ops/table.h"
#include "targets/host/portable/kernels.h"

namespace isthmus::host {
namespace {

tl::unexpected<Error> wrong_kind(std::size_t i, std::string_view expected) {
  return bad_input(fmt::format("argument {}: expected {}", i, expected));
}

}  // namespace

Expected<Tensor> RunningCall::tensor(std::size_t i) const {
  const auto* tensor = std::get_if<LiveTensor>(&slot(i));
  if (tensor == nullptr) return wrong_kind(i, "tensor");
  return read(*tensor);
}

Expected<std::vector<Tensor>> RunningCall::tensors(std::size_t i) const {
  const auto* list = std::get_if<pte::TensorList>(&slot(i));
  if (list == nullptr) return wrong_kind(i, "list of tensors");
  std::vector<Tensor> result;
  for (const pte::ValueIndex item : list->items) {
    const auto* tensor = std::get_if<LiveTensor>(&slots_[item]);
    if (tensor == nullptr) return wrong_kind(i, "list of tensors");
    result.push_back(TRY(read(*tensor)));
  }
  return result;
}

Expected<std::vector<std::optional<Tensor>>> RunningCall::optional_tensors(std::size_t i) const {
  const auto* list = std::get_if<pte::OptionalTensorList>(&slot(i));
  if (list == nullptr) return wrong_kind(i, "list of tensors or none");
  std::vector<std::optional<Tensor>> result;
  for (const std::optional<pte::ValueIndex> item : list->items) {
    const bool is_none = !item || std::holds_alternative<pte::None>(slots_[*item]);
    const auto* tensor = is_none ? nullptr : std::get_if<LiveTensor>(&slots_[*item]);
    if (!is_none && tensor == nullptr) return wrong_kind(i, "list of tensors or none");
    result.emplace_back(is_none ? std::nullopt : std::optional(TRY(read(*tensor))));
  }
  return result;
}

Expected<std::int64_t> RunningCall::integer(std::size_t i) const {
  if (const auto* number = std::get_if<std::int64_t>(&slot(i))) return *number;
  if (const auto* boolean = std::get_if<bool>(&slot(i))) return *boolean ? 1 : 0;
  return wrong_kind(i, "integer");
}

Expected<double> RunningCall::number(std::size_t i) const {
  if (const auto* number = std::get_if<double>(&slot(i))) return *number;
  if (const auto* number = std::get_if<std::int64_t>(&slot(i))) return static_cast<double>(*number);
  if (const auto* boolean = std::get_if<bool>(&slot(i))) return *boolean ? 1.0 : 0.0;
  return wrong_kind(i, "number");
}

Expected<bool> RunningCall::boolean(std::size_t i) const {
  if (const auto* boolean = std::get_if<bool>(&slot(i))) return *boolean;
  return wrong_kind(i, "bool");
}

Expected<std::string> RunningCall::text(std::size_t i) const {
  if (const auto* text = std::get_if<std::string>(&slot(i))) return *text;
  return wrong_kind(i, "text");
}

Expected<std::vector<std::int64_t>> RunningCall::integers(std::size_t i) const {
  const auto* list = std::get_if<pte::IntList>(&slot(i));
  if (list == nullptr) return wrong_kind(i, "list of integers");
  std::vector<std::int64_t> result;
  for (const pte::ValueIndex item : list->items) {
    const auto* number = std::get_if<std::int64_t>(&slots_[item]);
    if (number == nullptr) return wrong_kind(i, "list of integers");
    result.push_back(*number);
  }
  return result;
}

Expected<Ints> RunningCall::pair(std::size_t i) const {
  Ints list = TRY(integers(i));
  if (list.size() == 1) list.push_back(list[0]);
  if (list.size() != 2) return bad_input(fmt::format("argument {} has {} numbers, expected 2", i, list.size()));
  return list;
}
Expected<Ints> RunningCall::both_sides(std::size_t i) const {
  const Ints padding = TRY(pair(i));
  return Ints{padding[0], padding[0], padding[1], padding[1]};
}

Expected<std::int64_t> RunningCall::axis(std::size_t i, std::int64_t rank) const {
  const std::int64_t axis = TRY(integer(i));
  if (axis < -rank || axis >= rank) return bad_input(fmt::format("axis {} of {}", axis, rank));
  return axis < 0 ? axis + rank : axis;
}

Expected<std::vector<std::int64_t>> RunningCall::axes(std::size_t i, std::int64_t rank) const {
  std::vector<std::int64_t> result = TRY(integers(i));
  for (std::int64_t& axis : result) {
    if (axis < -rank || axis >= rank) return bad_input(fmt::format("axis {} of {}", axis, rank));
    if (axis < 0) axis += rank;
  }
  return result;
}

Expected<std::vector<double>> RunningCall::numbers(std::size_t i) const {
  if (const auto* list = std::get_if<pte::DoubleList>(&slot(i))) return list->items;
  return wrong_kind(i, "list of numbers");
}

Expected<DType> RunningCall::dtype(std::size_t i) const {
  const auto dtype = pte::dtype_of_number(TRY(integer(i)));
  if (!dtype) return bad_input(fmt::format("argument {} is not an element type that is known here", i));
  return *dtype;
}

Expected<void> RunningCall::set_tensor(std::size_t i, const Tensor& result) {
  auto* tensor = std::get_if<LiveTensor>(&slots_[args_[i]]);
  if (tensor == nullptr) return wrong_kind(i, "tensor");
  return write(*tensor, result);
}

Expected<void> RunningCall::set_tensors(std::size_t i, const std::vector<Tensor>& results) {
  const auto* list = std::get_if<pte::TensorList>(&slot(i));
  if (list == nullptr) return wrong_kind(i, "list of tensors");
  if (list->items.size() != results.size()) {
    return bad_input(fmt::format("{} results for a list of {}", results.size(), list->items.size()));
  }
  for (std::size_t k = 0; k < results.size(); ++k) {
    auto* tensor = std::get_if<LiveTensor>(&slots_[list->items[k]]);
    if (tensor == nullptr) return wrong_kind(i, "list of tensors");
    TRY(write(*tensor, results[k]));
  }
  return {};
}

Expected<void> RunningCall::set_number(std::size_t i, std::variant<std::int64_t, double, bool> number) {
  Slot& slot = slots_[args_[i]];
  // What other values rely on, such as a list's members, must keep its kind.
  const bool fits = std::visit([&](auto value) { return std::holds_alternative<decltype(value)>(slot); }, number);
  if (!fits) return wrong_kind(i, "place for its result");
  std::visit([&](auto value) { slot = value; }, number);
  return {};
}

std::byte* RunningCall::memory(std::size_t i, DType dtype, const std::vector<std::int64_t>& sizes,
                               std::span<const Tensor> inputs) const {
  auto* tensor = std::get_if<LiveTensor>(&slots_[args_[i]]);
  const bool fits = tensor != nullptr && tensor->data != nullptr && !tensor->is_constant && tensor->dtype == dtype &&
                    tensor->is_row_major() && resize(*tensor, sizes);
  if (!fits || reinterpret_cast<std::uintptr_t>(tensor->data) % size_of(dtype) != 0) return nullptr;
  const std::byte* const end = tensor->data + static_cast<std::size_t>(tensor->count()) * size_of(dtype);
  const bool is_free = std::ranges::all_of(inputs, [&](const Tensor& input) {
    const std::span<const std::byte> bytes = input.bytes();
    return bytes.empty() || bytes.data() >= end || bytes.data() + bytes.size() <= tensor->data;
  });
  return is_free ? tensor->data : nullptr;
}

Expected<void> RunningCall::store(std::size_t i, Op op, const Attrs& attrs, const std::vector<Tensor>& inputs) {
  return set_tensor(i, TRY(compute_in(i, op, attrs, inputs)));
}

Expected<Tensor> RunningCall::compute_in(std::optional<std::size_t> place, Op op, const Attrs& attrs,
                                         const std::vector<Tensor>& inputs) const {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) {
    types.push_back({input.dtype(), Shape(input.sizes().begin(), input.sizes().end())});
  }
  Exprs exprs;
  const TensorType type = TRY(def(op).infer({exprs, types, attrs}));
  std::vector<std::int64_t> sizes;
  std::uint64_t bytes = size_of(type.dtype);
  for (const Dim dim : type.shape) {
    if (!dim.is_fixed()) return bad_input("a result of unknown size");
    sizes.push_back(dim.value());
    const auto product = multiply_sizes(bytes, static_cast<std::uint64_t>(std::max<std::int64_t>(dim.value(), 0)));
    if (!product || *product > max_bytes_) return bad_input("the result does not fit in memory");
    bytes = *product;
  }
  const KernelDef* own = executorch_kernels::find_kernel(op);
  std::byte* const to = place ? memory(*place, type.dtype, sizes, inputs) : nullptr;
  return run_kernel(own == nullptr ? kernel_def(op) : *own, {inputs, attrs, type.dtype, sizes, to});
}

}  // namespace isthmus::host
