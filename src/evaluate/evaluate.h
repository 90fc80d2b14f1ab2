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

namespace isthmus {

// The error of numbers against those they should be, over any number of tensors.
class SignalToNoise {
 public:
  // Both of as many f32 elements.
  void add(std::span<const float> reference, std::span<const float> found);

  double db() const;      // 10 log10(signal / noise); infinite where there is no error, 0 where there is no signal
  double cosine() const;  // of the angle between the two
  std::uint64_t count() const { return count_; }

 private:
  std::uint64_t count_ = 0;
  double signal_ = 0;
  double noise_ = 0;
  double product_ = 0;
  double found_ = 0;
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
};

// `labels` has a class for each row, or is empty. `progress` is called after each sample; false ends it with an error.
Expected<Evaluation> evaluate(const Runner& reference, const Runner& program, Samples& samples,
                              std::span<const std::int64_t> labels,
                              const std::function<bool(std::size_t)>& progress = {});

}  // namespace isthmus
