// No technique may make a model worse than plain rounding does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "evaluate/evaluate.h"
#include "interpret/tensor.h"
#include "quantize/config/config.h"

namespace isthmus {

// What techniques may cost an output: all of them together, and a single one. Any change of the rounding moves the
// figure of a small model by half a dB, so that a single technique hurts only beyond that.
inline constexpr double kMaxLossDb = 0.5;
inline constexpr double kMaxLossOfOneDb = 1.0;

// By how many dB the errors of two ways of rounding, each over `count` numbers, differ by chance: a standard deviation.
double chance_db(std::uint64_t numbers);

// A sample, and what the model in float makes of it.
struct Trial {
  std::vector<Tensor> inputs;
  std::vector<std::optional<Tensor>> wanted;
  bool is_held_out = false;  // calibration did not see it
};

// The model, quantized in this way, as something that runs.
using Attempt = std::function<Expected<Runner>(const QuantConfig&)>;

struct GateOptions {
  // For trials that are not held out: the same, calibrated without them. Else the first attempt serves.
  Attempt apart = {};
  bool tries_each = false;        // also find single techniques that hurt behind others that help
  bool float_costs_time = false;  // first layers in float are slower than in int8: they must gain something
};

// The configuration without the techniques that hurt. First all of them together are compared with plain rounding: the
// usual case costs two attempts. Where they are worse on an output, they are switched off one by one, the one whose
// removal helps most first. With `tries_each`, any technique that hurts alone goes, too, unless it does nothing but add
// precision. A technique that costs time goes where it gains less than its row asks for on every output.
//
// Worse means by more than these limits over all samples, or on the held-out ones where it is more than chance explains
// and, with few numbers, all samples together gain nothing: one sample of ten classes differs by some dB in any two
// ways of rounding. What the user asked for by name stays, with a warning. All else that is switched off is said as
// well. An attempt that fails decides nothing. Figures are compared in steps of 0.1 dB, so that float kernels of
// different CPUs seldom lead to different decisions; trials on the interpreters never do.
QuantConfig without_harm(const QuantConfig& config, std::span<const Trial> trials, const Attempt& attempt,
                         const GateOptions& options, Diagnostics& diagnostics);

}  // namespace isthmus
