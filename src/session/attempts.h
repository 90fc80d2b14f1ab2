// Configurations of one model that were tried: each is quantized and compiled once.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "calibrate/held_out.h"
#include "evaluate/evaluate.h"
#include "quantize/config/config.h"
#include "quantize/improve/input_moments.h"
#include "session/compile.h"
#include "session/prepare.h"
#include "session/quantize.h"
#include "session/stage.h"
#include "stats/statistics.h"

namespace isthmus {

// What is the same for all configurations; it must outlive the attempts.
struct AttemptInputs {
  const Prepared& prepared;
  const TargetDesc& target;
  const std::vector<std::optional<TensorView>>& examples;
  const Statistics* statistics = nullptr;  // null: types without numbers
  std::vector<Sample> refining;            // for techniques that run samples
  std::vector<Sample> calibrated;          // that the statistics have seen
  std::vector<Order> input_orders;
  std::vector<pte::NamedData> attached;
  bool is_reproducible = false;  // trials run on the reference interpreters
};

// One configuration, as far as it was tried.
struct Tried {
  std::vector<bool> techniques;  // that are on, and how many rules there are: what configurations differ in
  std::size_t rules = 0;
  QuantizedModel model;
  Diagnostics said;
  std::optional<Compiled> compiled;
};

class Attempts {
 public:
  explicit Attempts(AttemptInputs inputs) : inputs_(std::move(inputs)) {}

  // Stands as long as the attempts.
  Expected<Tried*> quantized(const QuantConfig& config);
  Expected<Tried*> compiled(const QuantConfig& config);
  // The model in this configuration, as something that runs.
  Expected<Runner> runner(const QuantConfig& config);

  // Quantized and compiled for one look: nothing is kept here.
  Expected<Tried> once(const QuantConfig& config);
  // It must outlive the runner.
  Expected<Runner> runner(const Tried& tried) const;

  const AttemptInputs& inputs() const { return inputs_; }

  const std::deque<Tried>& tried() const { return tried_; }
  // Of the model that a configuration quantizes, whose channels may be equalized; null where there are none.
  Expected<const Statistics*> statistics(const QuantConfig& config);

 private:
  Expected<Adjusted*> adjusted(const QuantConfig& config);
  Expected<Tried> make(const QuantConfig& config);
  Expected<void> compile_one(Tried& tried) const;
  // Null where the model cannot run on the reference kernels, or would take too long.
  const InputMoments* moments();

  AttemptInputs inputs_;
  std::optional<InputMoments> moments_;
  std::map<std::pair<bool, bool>, Adjusted> adjusted_;  // equalized; with moments
  std::deque<Tried> tried_;
};

}  // namespace isthmus
