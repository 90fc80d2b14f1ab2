// Taps every value of the graph.
#include "program/run/shown_xnnpack.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace isthmus::run {
namespace {

using xnn::DataType;

std::optional<DType> dtype_of(DataType type) {
  if (type == DataType::kF32) return DType::kF32;
  if (type == DataType::kQI8) return DType::kI8;
  if (type == DataType::kQU8) return DType::kU8;
  return std::nullopt;
}

// What lies there, for as long as it does.
Tensor tensor_over(DType dtype, const xnnpack::Dims& sizes, const void* from) {
  TensorView view{dtype, {sizes.begin(), sizes.end()}, {}, 0, {}};
  view.strides = row_major_strides(view.sizes);
  const auto bytes = static_cast<std::size_t>(view.element_count()) * size_of(dtype);
  view.storage = Blob({static_cast<const std::byte*>(from), bytes}, nullptr);
  return Tensor::from(view);
}

}  // namespace

Expected<ShownXnnpack> ShownXnnpack::load(const xnn::Graph& graph,
                                          const std::function<std::optional<Blob>(const std::string&)>& named_data) {
  ShownXnnpack result;
  for (const xnn::Value& value : graph.values) {
    result.types_.push_back(value.datatype);
    const bool has_own_rows = value.datatype == DataType::kQDI8 && value.role == xnn::Role::kInternal;
    if (value.data == 0 && !dtype_of(value.datatype) && !has_own_rows) return result;
  }
  xnnpack::TappedSource source;
  source.graph = graph;
  // Inputs first, then outputs, both in the order of values.
  std::uint32_t next = 0;
  for (const xnn::Role role : {xnn::Role::kInput, xnn::Role::kOutput}) {
    for (std::uint32_t i = 0; i < graph.values.size(); ++i) {
      if (graph.values[i].role != role) continue;
      if (role == xnn::Role::kInput) result.inputs_.push_back({graph.values[i].external_id, i});
      if (role == xnn::Role::kOutput) ++source.output_count;
      source.graph.values[i].external_id = next++;
    }
  }
  source.graph.external_count = next;
  source.inputs.resize(result.inputs_.size());
  for (const xnn::Constant& constant : graph.constants) {
    if (!constant.key) continue;
    if (auto bytes = named_data(*constant.key)) source.named_data.push_back({*constant.key, std::move(*bytes)});
  }
  for (std::uint32_t i = 0; i < graph.values.size(); ++i) {
    const xnn::Value& value = graph.values[i];
    if (value.data == 0 && dtype_of(value.datatype)) {
      source.points.push_back({ValueId{i}, i, row_major(value.dims.size())});
    }
  }
  result.runtime_ = TRY(xnnpack::TappedRuntime::build(std::move(source)));
  return result;
}

Expected<void> ShownXnnpack::run(std::span<const xnnpack::Dims> shapes, std::span<std::byte* const> buffers,
                                 const ShowValue& show) {
  if (!runtime_) return {};
  std::vector<Tensor> given;
  for (const Input& input : inputs_) {
    given.push_back(tensor_over(*dtype_of(types_[input.value]), shapes[input.external], buffers[input.external]));
  }
  const auto show_all = [&](const void* start, std::span<const xnnpack::TappedValue> values) {
    for (const xnnpack::TappedValue& value : values) {
      show(value.id.index, tensor_over(*dtype_of(types_[value.id.index]), value.sizes, start));
    }
  };
  TRY(runtime_->run(
      given, [&](std::span<const float> numbers, const auto& values) { show_all(numbers.data(), values); },
      [&](std::span<const std::int8_t> quantized, const auto& values) { show_all(quantized.data(), values); }));
  return {};
}

}  // namespace isthmus::run
