// Partitions the model for the local XNNPACK, and builds it once.
#include "session/float_model.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "interpret/interpreter.h"
#include "quantize/config/pins.h"
#include "session/compile.h"
#include "session/runners.h"
#include "targets/partition.h"
#include "targets/registry.h"

namespace isthmus {
namespace {

// XNNPACK makes a clamp part of the node before it, and what lies between is never seen. Where some target computes the
// two apart it is asked for: what is read outside of a segment exists.
Partitioning with_all_measured(const Graph& graph, Partitioning on_xnnpack) {
  const auto is_apart_somewhere = [&](const Node& maker) {
    return std::ranges::any_of(all_targets(), [&](const TargetDesc* target) {
      return target->integers.takes_bounds == nullptr || !target->integers.takes_bounds(maker);
    });
  };
  for (Segment& segment : on_xnnpack.segments) {
    for (const NodeId id : segment.nodes) {
      if (!std::holds_alternative<ClampAttrs>(graph[id].attrs)) continue;
      const ValueId before = graph[id].inputs[0];
      const Node* maker = graph.producer(before);
      const bool is_inside = maker != nullptr && std::ranges::find(segment.inputs, before) == segment.inputs.end();
      if (!is_inside || !is_apart_somewhere(*maker)) continue;
      if (std::ranges::find(segment.outputs, before) == segment.outputs.end()) segment.outputs.push_back(before);
    }
  }
  return on_xnnpack;
}

}  // namespace

const Partitioning& FloatModel::places() {
  if (!places_) {
    StageClock clock(times_);
    places_ = clock.stage(Stage::kPartition, partition(prepared_.graph, local_float_target()));
  }
  return *places_;
}

FloatSegments FloatModel::segments() {
  return {.partitioning = with_all_measured(prepared_.graph, places()), .build = build_float_segment};
}

Expected<RunnerMaker> FloatModel::runners() {
  if (runners_) return *runners_;
  Prepared in_float{prepared_.graph, {}, {}, {}};
  if (is_quantized_by_archive(prepared_.graph)) {
    TRY(keep_in_float(in_float, local_float_target()));
    append_times(times_, in_float.times);
  } else {
    in_float.partitioning = places();
  }
  const Partitioning& placed = in_float.partitioning;
  const bool is_whole = placed.segments.size() == 1 && placed.schedule.size() == 1;
  if (is_whole) {
    if (auto compiled = compile(in_float, local_float_target(), examples_, nullptr)) {
      append_times(times_, compiled->times);
      const auto bytes = std::make_shared<LargeBytes>(std::move(compiled->bytes));
      runners_ = program_runners(Blob(*bytes, bytes), nullptr, compiled->method);
      return *runners_;
    }
  }
  runners_ = reference_runners(prepared_.graph);
  return *runners_;
}

}  // namespace isthmus
