// What the rows of the table write with.
#include "targets/host/node_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "formats/executorch/pte_element_types.h"
#include "interpret/half.h"
#include "targets/host/names.h"

namespace isthmus::host {
namespace {

bool has_host_arithmetic(DType dtype) {
  const bool is_wide_unsigned = info(dtype).kind == DTypeClass::kUnsigned && size_of(dtype) > 1;
  const bool is_narrow_float = is_floating(dtype) && size_of(dtype) < 2;
  return !is_wide_unsigned && !is_narrow_float && !is_complex(dtype);
}

Expected<void> demand_types(ElementTypes types, const WrittenOp& row, const Graph& graph, const Node& node) {
  if (types == ElementTypes::kBytes) return {};
  const auto refuse = [&](DType dtype) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("ExecuTorch's kernels for {} do not support {}", name_of(row.op), name_of(dtype)));
  };
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (const ValueId id : *values) {
      if (!has_host_arithmetic(graph.type(id).dtype)) return refuse(graph.type(id).dtype);
    }
  }
  const bool has_bool = !node.inputs.empty() && graph.type(node.inputs[0]).dtype == DType::kBool;
  if (types == ElementTypes::kNoBool && has_bool) return refuse(DType::kBool);
  return {};
}

TensorType widened(const TensorType& type) {
  TensorType result = type;
  if (is_half(type.dtype)) result.dtype = DType::kF32;
  return result;
}

// Calls use(numbers) with the elements of a constant.
template <class Use>
auto with_numbers(const Graph& graph, ValueId id, Use use) -> decltype(use(std::span<const double>())) {
  const Constant* constant = graph.constant(id);
  if (constant == nullptr || !constant->data) return {};
  const Tensor tensor = widened(Tensor::from(*constant->data));
  return dispatch(tensor.dtype(), [&]<class Number>(Number) { return use(tensor.data<Number>()); });
}

}  // namespace

NodeWriter::NodeWriter(const Graph& graph, const Node& node, const WrittenOp& row, ProgramValues& values,
                       CallWriter& calls)
    : graph_(graph),
      node_(node),
      kernel_(row.kernel),
      takes_any_order_(keeps_order(row, node)),
      values_(values),
      calls_(calls) {
  for (const ValueId id : node.inputs) types_.push_back(row.widens ? widened(graph.type(id)) : graph.type(id));
  converted_inputs_.resize(node.inputs.size());
  const TensorType& type = graph.type(node.outputs[0]);
  result_type_ = row.widens ? widened(type) : type;
}

std::optional<double> NodeWriter::known_number(std::size_t input) const {
  return with_numbers(graph_, node_.inputs[input], [](auto numbers) {
    return numbers.size() == 1 ? std::optional(static_cast<double>(numbers[0])) : std::nullopt;
  });
}
std::optional<std::int64_t> NodeWriter::known_integer(std::size_t input) const {
  const std::optional<double> number = known_number(input);
  constexpr double kMaxExact = 1LL << 53;  // every integer below is a double
  if (!number || !(std::abs(*number) < kMaxExact)) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}
bool NodeWriter::is_never(std::size_t input, double number) const {
  return with_numbers(graph_, node_.inputs[input], [&](auto numbers) {
    return std::ranges::none_of(numbers, [&](auto each) { return static_cast<double>(each) == number; });
  });
}
bool NodeWriter::is_within(std::size_t input, double min, double max) const {
  return with_numbers(graph_, node_.inputs[input], [&](auto numbers) {
    return std::ranges::all_of(numbers, [&](auto each) {
      const auto number = static_cast<double>(each);
      return number >= min && number <= max;
    });
  });
}

Expected<pte::ValueIndex> NodeWriter::input(std::size_t i) {
  if (i >= node_.inputs.size()) return values_.none();
  const Index value = TRY(values_.tensor(node_.inputs[i]));
  const bool has_order = takes_any_order_ || std::ranges::is_sorted(values_.order(node_.inputs[i]));
  if (has_order && types_[i].dtype == graph_.type(node_.inputs[i]).dtype) return value;
  std::optional<Index>& converted = converted_inputs_[i];
  if (!converted) {
    converted = TRY(step(names::kConvert, cast_arguments(value, type(i).rank()), type(i)));
  }
  return *converted;
}

Expected<pte::ValueIndex> NodeWriter::result() {
  if (result_type_.dtype == graph_.type(node_.outputs[0]).dtype) return values_.tensor(node_.outputs[0]);
  if (!wide_result_) wide_result_ = TRY(scratch(result_type_));
  return *wide_result_;
}

Expected<void> NodeWriter::close() {
  if (!wide_result_) return {};
  calls_.call(names::kConvert, cast_arguments(*wide_result_, result_type_.rank()),
              {TRY(values_.tensor(node_.outputs[0]))});
  return {};
}

std::vector<pte::ValueIndex> NodeWriter::cast_arguments(Index value, std::size_t rank) {
  Ints order(rank);
  std::iota(order.begin(), order.end(), 0);
  return {value, boolean(false), integers(order)};
}

Expected<pte::ValueIndex> NodeWriter::input_as(std::size_t i, DType dtype) {
  const Index value = TRY(input(i));
  if (i >= node_.inputs.size() || type(i).dtype == dtype) return value;
  return step(names::kConvert, cast_arguments(value, type(i).rank()), {dtype, type(i).shape});
}

pte::ValueIndex NodeWriter::number(double number, DType dtype) {
  if (dtype == DType::kBool) return boolean(number != 0);
  return is_integer(dtype) ? integer(static_cast<std::int64_t>(number)) : real(number);
}

Expected<pte::ValueIndex> NodeWriter::element_type(DType dtype) {
  const auto number = pte::number_of(dtype);
  if (!number) return fail(ErrorKind::kUnsupported, fmt::format("program files do not support {}", name_of(dtype)));
  return integer(*number);
}

Expected<pte::ValueIndex> NodeWriter::sizes(const Shape& shape) {
  std::vector<Index> items;
  for (const Dim dim : shape) items.push_back(TRY(size(dim)));
  return values_.integers_of(std::move(items));
}

Expected<pte::ValueIndex> NodeWriter::view_sizes(const Shape& shape) {
  const auto is_symbolic = [](Dim dim) { return !dim.is_fixed(); };
  const bool is_inferred =
      std::ranges::count_if(shape, is_symbolic) == 1 && std::ranges::find(shape, Dim(0)) == shape.end();
  if (!is_inferred) return sizes(shape);
  Ints numbers;
  for (const Dim dim : shape) numbers.push_back(dim.is_fixed() ? dim.value() : -1);
  return integers(numbers);
}

Expected<pte::ValueIndex> NodeWriter::step(std::string_view kernel, std::vector<Index> args, const TensorType& type) {
  const Index out = TRY(scratch(type));
  calls_.call(kernel, std::move(args), {out});
  return out;
}

Expected<void> NodeWriter::finish(std::string_view kernel, std::vector<Index> args) {
  calls_.call(kernel, std::move(args), {TRY(result())});
  return {};
}

Expected<pte::ValueIndex> NodeWriter::reshaped(Index value, const TensorType& from, const Shape& to) {
  if (from.shape == to) return value;
  return step(names::kView, {value, TRY(view_sizes(to))}, {from.dtype, to});
}

Expected<void> write_inputs(NodeWriter& node) {
  std::vector<pte::ValueIndex> args;
  for (std::size_t i = 0; i < node.input_count(); ++i) args.push_back(TRY(node.input(i)));
  return node.finish(std::move(args));
}

bool keeps_order(const WrittenOp& row, const Node& node) {
  return row.keeps_order && node.inputs.size() == 1 && node.outputs.size() == 1;
}

Expected<void> write_calls(const WrittenOp& row, const Graph& graph, const Node& node, ProgramValues& values,
                           CallWriter& calls) {
  TRY(demand_types(row.types, row, graph, node));
  NodeWriter host(graph, node, row, values, calls);
  TRY(row.write(host));
  return host.close();
}

}  // namespace isthmus::host
