// The table of stages.
#include "session/stage.h"

#include <algorithm>

namespace isthmus {
namespace {

constexpr StageRow kStages[] = {
    {.stage = Stage::kLoad, .name = "load", .what = "reads the file into a graph", .has_graph = true},
    {.stage = Stage::kShapes, .name = "shapes", .what = "fixes or bounds dynamic dimensions"},
    {.stage = Stage::kCanonicalize,
     .name = "canonicalize",
     .what = "rewrites calls of the frontend to the ops of the op table",
     .has_graph = true},
    {.stage = Stage::kLegalize,
     .name = "legalize",
     .what = "decomposes what the target has no form for",
     .has_graph = true},
    {.stage = Stage::kCalibrate, .name = "calibrate", .what = "measures every value on samples"},
    {.stage = Stage::kEqualize, .name = "equalize", .what = "balances the ranges of channels"},
    {.stage = Stage::kPlan, .name = "plan", .what = "chooses precisions, groups and parameters"},
    {.stage = Stage::kQuantize, .name = "quantize", .what = "applies the plan to the graph", .has_graph = true},
    {.stage = Stage::kProve, .name = "prove", .what = "checks every demand of the target"},
    {.stage = Stage::kCorrect, .name = "correct", .what = "corrects biases layer by layer"},
    {.stage = Stage::kPartition, .name = "partition", .what = "decides where each node runs", .has_graph = true},
    {.stage = Stage::kLower, .name = "lower", .what = "builds delegates and host calls"},
    {.stage = Stage::kEmit, .name = "emit", .what = "plans memory and writes the bytes"},
    {.stage = Stage::kTry, .name = "try", .what = "reads the program back and runs it once"},
    {.stage = Stage::kFinish, .name = "finish", .what = "runs the vendor's compiler on the delegates"},
    {.stage = Stage::kCompare, .name = "compare", .what = "compares the program with the model in float"},
};

}  // namespace

std::span<const StageRow> stages() { return kStages; }

std::string_view name_of(Stage stage) { return std::ranges::find(kStages, stage, &StageRow::stage)->name; }

std::optional<Stage> find_stage(std::string_view name) {
  const auto* found =
      std::ranges::find_if(kStages, [&](const StageRow& row) { return row.has_graph && row.name == name; });
  return found == std::end(kStages) ? std::nullopt : std::optional(found->stage);
}

void append_times(std::vector<StageTime>& times, std::span<const StageTime> more, std::string_view of) {
  for (const StageTime& time : more) {
    times.push_back(time);
    if (!of.empty()) times.back().of = of;
  }
}

}  // namespace isthmus
