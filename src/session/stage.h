// The stages of a compile: one table that --stop-after, times and traces read.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace isthmus {

enum class Stage : std::uint8_t {
  kLoad,
  kShapes,
  kCanonicalize,
  kLegalize,
  kCalibrate,
  kEqualize,
  kPlan,
  kQuantize,
  kProve,
  kCorrect,
  kPartition,
  kLower,
  kEmit,
  kTry,
  kFinish,
  kCompare,
};

struct StageRow {
  Stage stage;
  std::string_view name;
  std::string_view what;   // it does
  bool has_graph = false;  // after which the graph can be printed
};
// In the order in which they run.
std::span<const StageRow> stages();

std::string_view name_of(Stage stage);
// Null where no stage with a graph has this name.
std::optional<Stage> find_stage(std::string_view name);

// One execution of a stage.
struct StageTime {
  Stage stage = Stage::kLoad;
  double seconds = 0;
  std::string name;  // of the stage; a finishing step of the target has its own
  std::string of;    // what it was run for besides the result: "float reference", "trial 2"; empty: the result itself
};

// Measures stages that follow each other.
class StageClock {
 public:
  explicit StageClock(std::vector<StageTime>& times) : times_(times) {}

  // The result of a stage; the time since the one before is the stage's.
  template <class Result>
  Result stage(Stage stage, Result result) {
    return stage_named(stage, std::string(name_of(stage)), std::move(result));
  }
  template <class Result>
  Result stage_named(Stage stage, std::string name, Result result) {
    const auto now = std::chrono::steady_clock::now();
    times_.push_back({stage, std::chrono::duration<double>(now - last_).count(), std::move(name), {}});
    last_ = now;
    return result;
  }

 private:
  std::vector<StageTime>& times_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Adds the times of `more`, said to be of something else than the result.
void append_times(std::vector<StageTime>& times, std::span<const StageTime> more, std::string_view of = {});

}  // namespace isthmus
