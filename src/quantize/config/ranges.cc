// Estimators over statistics and constants, and what is known without them.
#include "quantize/config/ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "interpret/tensor.h"
#include "ops/table.h"
#include "stats/measure.h"
#include "targets/integers.h"

namespace isthmus {
namespace {

Range with_zero(Range range) { return {std::min(range.min, 0.0), std::max(range.max, 0.0)}; }

int levels_of(DType storage) { return storage == DType::kI16 ? 65535 : 256; }

}  // namespace

Ranges::Ranges(const Graph& graph, const Statistics* statistics, const std::vector<NodeSettings>& settings,
               const std::vector<DType>& storage, const Pins& pins)
    : graph_(graph),
      statistics_(statistics),
      settings_(settings),
      storage_(storage),
      own_(graph.values().size()),
      is_derived_(graph.values().size(), false) {
  if (pins.empty()) return;
  for (const auto& [value, pin] : pins) {
    own_[value.index] = range_of(pin);
    is_derived_[value.index] = true;
  }
  for (std::size_t i = 0; i < is_derived_.size(); ++i) {
    const Constant* constant = graph.constant(ValueId{static_cast<std::uint32_t>(i)});
    is_derived_[i] = is_derived_[i] || (constant != nullptr && constant->data);
  }
  for (const Node& node : graph.nodes()) derive(node);
}

void Ranges::derive(const Node& node) {
  if (node.op == Op::kForeign || is_derived_[node.outputs[0].index]) return;
  const std::size_t result = node.outputs[0].index;
  const OpDef& row = def(node.op);
  if (row.range || settings_[graph_[node.outputs[0]].index].fixed_range) {
    is_derived_[result] = true;  // own() knows it
    return;
  }
  if (!passes_values_through(node.op)) return;
  Range range;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!is_data_input(node.op, i)) continue;
    if (!is_derived_[node.inputs[i].index]) return;
    const Range input = *own(node.inputs[i]);
    range = {std::min(range.min, input.min), std::max(range.max, input.max)};
  }
  if (const auto* pad = std::get_if<PadAttrs>(&node.attrs); pad != nullptr && std::isfinite(pad->value)) {
    range = {std::min(range.min, pad->value), std::max(range.max, pad->value)};
  }
  own_[result] = range;
  is_derived_[result] = true;
}

RangeOptions Ranges::options_of(ValueId id, DType storage) const {
  const Value& value = graph_[id];
  RangeOptions options;
  if (value.kind == ValueKind::kResult) options = settings_[value.index].range;
  if (value.kind == ValueKind::kConstant) options.estimator = minmax_estimator();
  options.levels = levels_of(storage);
  return options;
}

const ValueStatistics* Ranges::find_statistics(ValueId id) {
  if (const Constant* constant = graph_.constant(id)) {
    const auto [found, is_new] = of_constants_.try_emplace(id);
    if (is_new && constant->data && constant->data->dtype == DType::kF32) {
      const Tensor data = Tensor::from(*constant->data);
      ValueStatistics& statistics = found->second;
      statistics.moments = measure(data.data<float>());
      if (statistics.moments.count > 0 && statistics.moments.nans + statistics.moments.infinities == 0) {
        statistics.histogram.add(data.data<float>(), 1, statistics.moments.min, statistics.moments.max);
      }
    }
    return &found->second;
  }
  if (statistics_ == nullptr) return nullptr;
  const auto found = statistics_->values.find(graph_[id].name);
  return found == statistics_->values.end() ? nullptr : &found->second;
}

Expected<const ValueStatistics*> Ranges::statistics_of(ValueId id) {
  const ValueStatistics* found = find_statistics(id);
  if (found == nullptr) return bad_input(fmt::format("no statistics for %{}", graph_[id].name));
  return found;
}

Range Ranges::limited(ValueId id, Range range) const {
  const Node* maker = graph_.producer(id);
  if (maker == nullptr || maker->op == Op::kForeign) return range;
  const auto clip = [&](double min, double max) {
    range = {std::clamp(range.min, min, max), std::clamp(range.max, min, max)};
  };
  if (const auto& fixed = def(maker->op).range) {
    if (!is_known()) range = {fixed->min, fixed->max};
    clip(fixed->min, fixed->max);
  }
  if (const auto* clamp = std::get_if<ClampAttrs>(&maker->attrs); clamp != nullptr && clamp->min <= clamp->max) {
    clip(clamp->min, clamp->max);
  }
  if (const auto& asked = settings_[graph_[id].index].fixed_range) range = *asked;
  return with_zero(range);
}

Expected<Range> Ranges::own(ValueId id) {
  std::optional<Range>& cached = own_[id.index];
  if (!cached) cached = TRY(own(id, storage_[id.index]));
  return *cached;
}

Expected<Range> Ranges::own(ValueId id, DType storage) {
  if (own_[id.index] && (storage == storage_[id.index] || is_derived_[id.index])) return *own_[id.index];
  Range range;
  const bool has_statistics = is_known() || (is_derived_[id.index] && graph_.constant(id) != nullptr);
  if (has_statistics) range = range_of(*TRY(statistics_of(id)), options_of(id, storage));
  return limited(id, range);
}

Expected<Range> Ranges::shared(std::span<const ValueId> values) {
  if (values.empty()) return Range{};
  if (values.size() == 1) return own(values[0]);
  Range hull;
  std::vector<const ValueStatistics*> parts;
  for (const ValueId id : values) {
    const Range range = TRY(own(id));
    hull = {std::min(hull.min, range.min), std::max(hull.max, range.max)};
    if (is_known()) parts.push_back(TRY(statistics_of(id)));
  }
  if (!is_known()) return hull;
  // The estimator of the node that computes it counts before that of an input or a constant.
  const ValueId first = *std::ranges::min_element(values, {}, [&](ValueId id) {
    const RangeOptions options = options_of(id, storage_[id.index]);
    return std::tuple(graph_[id].kind != ValueKind::kResult, options.estimator, options.percentile, options.levels);
  });
  const Range found = shared_range_of(parts, options_of(first, storage_[first.index]));
  return Range{std::max(found.min, hull.min), std::min(found.max, hull.max)};
}

}  // namespace isthmus
