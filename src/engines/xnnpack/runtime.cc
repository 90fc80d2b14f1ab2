// Reshapes, sets up and runs a delegate's graph.
#include "engines/xnnpack/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "engines/xnnpack/live.h"

namespace isthmus::xnnpack {
namespace {

Expected<void> check(xnn_status status, std::string_view what) {
  if (status == xnn_status_success) return {};
  return fail(ErrorKind::kUnsupported, fmt::format("XNNPACK cannot {} the delegate: {}", what, words(status)));
}

bool is_quantized_mean(const xnn::Graph& graph, const xnn::Node& node) {
  return node.kind == xnn::NodeKind::kGlobalAvgPool2d && graph.values[node.inputs[0]].datatype != xnn::DataType::kF32;
}

}  // namespace

Expected<void> Runtime::Live::reshape(const std::vector<Dims>& wanted) {
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const xnn::Value& value = graph.values[i];
    if (value.role != xnn::Role::kInput) continue;
    TRY(check(xnn_reshape_external_value(runtime.get(), value.external_id, wanted[i].size(), wanted[i].data()),
              "reshape an input of"));
  }
  return check(xnn_reshape_runtime(runtime.get()), "reshape");
}

Runtime::Runtime(std::unique_ptr<Live> live) : live_(std::move(live)) {
  externals_.resize(live_->graph.external_count);
  for (const xnn::Value& value : live_->graph.values) {
    if (value.role == xnn::Role::kInternal) continue;
    externals_[value.external_id] = {value.role, value.datatype, Dims(value.dims.begin(), value.dims.end())};
  }
  live_->plans_declared_first = std::ranges::any_of(
      live_->graph.nodes, [&](const xnn::Node& node) { return is_quantized_mean(live_->graph, node); });
}
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;
Runtime::~Runtime() = default;

std::uint64_t Runtime::bytes() const { return live_->bytes; }

Expected<std::vector<Dims>> Runtime::reshape(std::span<const Dims> inputs) {
  Live& live = *live_;
  if (inputs.size() != externals_.size()) return bad_input("the number of shapes differs from the number of arguments");
  const auto externals = [&] {
    std::vector<Dims> result(externals_.size());
    for (std::size_t i = 0; i < live.graph.values.size(); ++i) {
      const xnn::Value& value = live.graph.values[i];
      if (value.role != xnn::Role::kInternal) result[value.external_id] = live.shapes[i];
    }
    return result;
  };
  bool is_same = !live.shapes.empty();
  for (std::size_t i = 0; i < live.graph.values.size(); ++i) {
    const xnn::Value& value = live.graph.values[i];
    if (value.role != xnn::Role::kInput) continue;
    const Dims& dims = inputs[value.external_id];
    if (dims.size() != value.dims.size()) {
      return bad_input(fmt::format("argument {} is {}, the delegate expects {} axes", value.external_id, text_of(dims),
                                   value.dims.size()));
    }
    is_same = is_same && dims == live.shapes[i];
  }
  if (is_same) return externals();

  std::vector<Dims> shapes = declared_shapes(live.graph);
  for (std::size_t i = 0; i < live.graph.values.size(); ++i) {
    const xnn::Value& value = live.graph.values[i];
    if (value.role == xnn::Role::kInput) shapes[i] = inputs[value.external_id];
  }
  live.shapes.clear();
  live.buffers.clear();
  TRY(infer_shapes(live.graph, shapes, live.max_bytes));
  if (live.plans_declared_first) {
    for (std::size_t i = 0; i < live.graph.values.size(); ++i) {
      if (std::ranges::equal(shapes[i], live.graph.values[i].dims, std::ranges::less_equal())) continue;
      return bad_input(fmt::format("value {} is {}, larger than declared", i, text_of(shapes[i])));
    }
    TRY(live.reshape(declared_shapes(live.graph)));
  }
  TRY(live.reshape(shapes));
  for (std::size_t i = 0; i < live.graph.values.size(); ++i) {
    const xnn::Value& value = live.graph.values[i];
    if (value.role != xnn::Role::kOutput) continue;
    std::size_t rank = 0;
    Dims dims(xnn::kMaxDimensions);
    TRY(check(xnn_get_external_value_shape(live.runtime.get(), value.external_id, &rank, dims.data()),
              "infer the shapes of"));
    dims.resize(rank);
    // The caller's buffers are made for our shapes.
    if (dims != shapes[i]) {
      return bad_input(fmt::format("XNNPACK computes output {} as {}, expected {}", value.external_id, text_of(dims),
                                   text_of(shapes[i])));
    }
  }
  live.shapes = std::move(shapes);
  return externals();
}

Expected<void> Runtime::run(std::span<std::byte* const> buffers) {
  Live& live = *live_;
  if (live.shapes.empty() || buffers.size() != externals_.size()) return bad_input("the delegate has no shapes yet");
  if (!std::equal(buffers.begin(), buffers.end(), live.buffers.begin(), live.buffers.end())) {
    std::vector<xnn_external_value> values;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (externals_[i].role == xnn::Role::kInternal) continue;
      values.push_back({static_cast<std::uint32_t>(i), buffers[i]});
    }
    live.buffers.clear();
    TRY(check(xnn_setup_runtime_v2(live.runtime.get(), values.size(), values.data()), "set up"));
    live.buffers.assign(buffers.begin(), buffers.end());
  }
  return check(xnn_invoke_runtime(live.runtime.get()), "run");
}

Expected<std::vector<OperatorTime>> Runtime::profile() const {
  const auto get = [&](xnn_profile_info what, std::size_t bytes, void* to) {
    std::size_t needed = 0;
    return check(xnn_get_runtime_profiling_info(live_->runtime.get(), what, bytes, to, &needed), "profile");
  };
  std::size_t count = 0;
  TRY(get(xnn_profile_info_num_operators, sizeof(count), &count));
  std::vector<std::uint64_t> microseconds(count);
  TRY(get(xnn_profile_info_operator_timing, count * sizeof(std::uint64_t), microseconds.data()));
  std::size_t text_bytes = 0;
  xnn_get_runtime_profiling_info(live_->runtime.get(), xnn_profile_info_operator_name, 0, nullptr, &text_bytes);
  std::string names(text_bytes, '\0');
  TRY(get(xnn_profile_info_operator_name, names.size(), names.data()));

  std::vector<OperatorTime> result;
  std::size_t at = 0;
  for (const std::uint64_t time : microseconds) {
    const std::size_t end = std::min(names.find('\0', at), names.size());
    result.push_back({names.substr(at, end - at), static_cast<double>(time) * 1e-6});
    at = std::min(end + 1, names.size());
  }
  return result;
}

}  // namespace isthmus::xnnpack
