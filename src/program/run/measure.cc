// Warms up, then runs against the clock.
#include "program/run/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "base/bytes.h"
#include "base/cpus.h"

namespace isthmus::run {
namespace {

constexpr double kWarmUpShare = 0.1;
constexpr std::size_t kMaxRuns = 10'000'000;

class Clock {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The smallest of the sorted times that at least this share of them does not exceed.
double percentile(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

Statistics per_run(const Statistics& before, const Statistics& after, std::uint64_t runs) {
  const auto count = static_cast<double>(runs);
  return {(after.delegate_calls - before.delegate_calls) / runs, (after.host_calls - before.host_calls) / runs,
          (after.io_calls - before.io_calls) / runs, (after.delegate_seconds - before.delegate_seconds) / count,
          (after.host_seconds - before.host_seconds) / count};
}

Tensor ones(DType dtype, std::vector<std::int64_t> sizes) {
  Tensor tensor(dtype, std::move(sizes));
  if (dtype == DType::kF32) std::ranges::fill(tensor.mutable_data<float>(), 1.0f);
  if (dtype == DType::kF64) std::ranges::fill(tensor.mutable_data<double>(), 1.0);
  return tensor;
}

// `after_warm_up` is called before the runs that count.
Expected<Measurement> measure_calls(const std::function<Expected<void>()>& call, const MeasureOptions& options,
                                    const std::function<void()>& after_warm_up) {
  const auto timed_run = [&]() -> Expected<double> {
    const Clock clock;
    TRY(call());
    return clock.seconds();
  };
  Measurement result;
  const Clock warm_up;
  result.first_seconds = TRY(timed_run());
  while (warm_up.seconds() < options.seconds * kWarmUpShare) TRY(timed_run());

  after_warm_up();
  std::vector<double> times;
  const auto waited = seconds_without_cpu();
  const Clock clock;
  do {
    times.push_back(TRY(timed_run()));
    if (options.after) options.after(std::min(clock.seconds() / options.seconds, 1.0));
  } while (clock.seconds() < options.seconds && times.size() < kMaxRuns);

  if (waited) result.waited = (seconds_without_cpu().value_or(*waited) - *waited) / clock.seconds();
  std::ranges::sort(times);
  result.runs = times.size();
  result.min_seconds = times.front();
  result.p50_seconds = percentile(times, 0.5);
  result.p90_seconds = percentile(times, 0.9);
  result.p99_seconds = percentile(times, 0.99);
  double sum = 0;
  for (const double time : times) sum += time;
  result.mean_seconds = sum / static_cast<double>(times.size());
  return result;
}

}  // namespace

Expected<Measurement> measure(const std::function<Expected<void>()>& call, const MeasureOptions& options) {
  return measure_calls(call, options, [] {});
}

Expected<Measurement> measure(Method& method, std::span<const Tensor> inputs, const MeasureOptions& options) {
  const auto call = [&]() -> Expected<void> {
    TRY(method.run(inputs));
    return {};
  };
  Statistics before;
  Measurement result = TRY(measure_calls(call, options, [&] {
    before = method.statistics();
    method.clear_profile();
  }));
  result.each = per_run(before, method.statistics(), result.runs);
  result.profile = method.profile();
  for (OperatorTime& row : result.profile) row.seconds /= static_cast<double>(result.runs);
  return result;
}

Expected<std::vector<Tensor>> plain_inputs(const Method& method, std::uint64_t max_bytes) {
  std::vector<Tensor> result;
  std::uint64_t left = max_bytes;
  for (const TensorInfo& info : method.inputs()) {
    std::uint64_t bytes = size_of(info.dtype);
    for (const std::int64_t size : info.sizes) bytes *= static_cast<std::uint64_t>(size);
    if (bytes > left) return bad_input(fmt::format("the inputs take more than {} bytes", max_bytes));
    left -= bytes;
    result.push_back(ones(info.dtype, info.sizes));
  }
  return result;
}

}  // namespace isthmus::run
