// How far a program is from the model that it was compiled from.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "calibrate/samples.h"
#include "interpret/tensor.h"
#include "shard/manifest.h"
#include "stats/exact_sum.h"

namespace isthmus {

// The error of numbers against those they should be, over any number of tensors. Merges exactly: tensors may come in
// any order, and in any number of parts.
class SignalToNoise {
 public:
  // Each is added up over a tensor, always in the same order, and then exactly over all tensors.
  struct Sums {
    ExactSum signal, noise, product, found;
    bool operator==(const Sums&) const = default;
  };

  SignalToNoise() = default;
  SignalToNoise(const Sums& sums, std::uint64_t count, std::uint64_t not_finite)
      : sums_(sums), count_(count), not_finite_(not_finite) {}

  // Both of as many f32 elements.
  void add(std::span<const float> reference, std::span<const float> found);
  void merge(const SignalToNoise& other);

  // 10 log10(signal / noise); infinite where there is no error, 0 where there is no signal, NaN where some numbers were
  // not finite.
  double db() const;
  double cosine() const;  // of the angle between the two
  std::uint64_t count() const { return count_; }
  std::uint64_t not_finite() const { return not_finite_; }
  const Sums& sums() const { return sums_; }

  bool operator==(const SignalToNoise&) const = default;

 private:
  Sums sums_;
  std::uint64_t count_ = 0;
  std::uint64_t not_finite_ = 0;  // tensors that are not in the sums
};

// Computes the outputs for one sample.
using Runner = std::function<Expected<std::vector<std::optional<Tensor>>>(std::span<const Tensor>)>;

struct Evaluation {
  std::uint64_t samples = 0;
  std::vector<SignalToNoise> outputs;  // of those that are real numbers, in order
  // Of the first output, over its last axis; a row is what the last axis holds.
  std::uint64_t rows = 0;
  std::uint64_t agreeing = 0;  // rows whose largest number is in the same place
  // Rows whose largest number is where the label says. Only with labels.
  bool has_labels = false;
  std::uint64_t right_reference = 0;
  std::uint64_t right = 0;
  std::optional<Manifest> part = {};  // where it is not over all samples

  // Fails where outputs differ, and where the other is no further part of the same.
  Expected<void> merge(const Evaluation& other);
  bool operator==(const Evaluation&) const = default;
};

// `labels` has a class for each row of all data, also where the samples are a part of them, or is empty. `progress` is
// called after each sample; false ends it with an error.
Expected<Evaluation> evaluate(const Runner& reference, const Runner& program, Samples& samples,
                              std::span<const std::int64_t> labels,
                              const std::function<bool(std::size_t)>& progress = {});

}  // namespace isthmus
