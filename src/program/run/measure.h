// How long a method takes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "interpret/tensor.h"
#include "program/run/method.h"

namespace isthmus::run {

struct MeasureOptions {
  double seconds = 2;                          // of the runs that count; at least one is made, whatever it takes
  std::function<void(double fraction)> after;  // each run, with how much of the time has passed
};

struct Measurement {
  std::uint64_t runs = 0;
  double first_seconds = 0;  // of the very first run, which also sets things up
  double min_seconds = 0;    // of the others, without those that warm up
  double p50_seconds = 0;
  double p90_seconds = 0;
  double p99_seconds = 0;
  double mean_seconds = 0;
  double waited = 0;  // the share of these runs' time in which others had the CPU; 0 where the system does not say
  Statistics each;    // of one run: calls, and the mean of the seconds
  std::vector<OperatorTime> profile;  // of one run: the mean; empty where the method has none
};

// The same call again and again; what is counted of methods stays 0.
Expected<Measurement> measure(const std::function<Expected<void>()>& call, const MeasureOptions& options = {});

// Runs it over the same inputs again and again. The method must not have run before.
Expected<Measurement> measure(Method& method, std::span<const Tensor> inputs, const MeasureOptions& options = {});

// Inputs of the declared sizes, at the upper bounds where they are dynamic: f32 and f64 are 1, all others 0.
// Fails where they take more than `max_bytes`.
Expected<std::vector<Tensor>> plain_inputs(const Method& method, std::uint64_t max_bytes);

}  // namespace isthmus::run
