// The model in float on this machine, as calibration and comparisons run it.
#pragma once

#include <optional>
#include <vector>

#include "base/expected.h"
#include "calibrate/calibrate.h"
#include "evaluate/side_by_side.h"
#include "session/prepare.h"
#include "session/stage.h"
#include "targets/partitioning.h"

namespace isthmus {

// Partitioned once and compiled once, however often it is asked for. Not for several threads at once. The prepared
// model must outlive it.
class FloatModel {
 public:
  FloatModel(const Prepared& prepared, const std::vector<std::optional<TensorView>>& examples)
      : prepared_(prepared), examples_(examples) {}

  // What the local XNNPACK computes with every value shown.
  FloatSegments segments();
  // As fast as this machine can: on the local XNNPACK where that has it all, else by the reference kernels.
  Expected<RunnerMaker> runners();

  const std::vector<StageTime>& times() const { return times_; }

 private:
  const Partitioning& places();

  const Prepared& prepared_;
  const std::vector<std::optional<TensorView>>& examples_;
  std::optional<Partitioning> places_;
  std::optional<RunnerMaker> runners_;
  std::vector<StageTime> times_;
};

}  // namespace isthmus
