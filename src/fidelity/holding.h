// How a value of a program holds a value of a model: in which order of axes, and times which factors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fidelity/numbers.h"

namespace isthmus::fidelity {

struct Holding {
  std::vector<std::uint8_t> order;   // the model's axes, from the outermost in the program's memory to the innermost
  std::optional<std::size_t> axis;   // of the model's value: each channel has a factor of its own; none: one for all
  std::vector<float> factors = {1};  // the program's number is so many times the model's; all above 0
  float offset = 0;                  // and so much more

  bool is_plain() const { return factors.size() == 1 && factors[0] == 1 && offset == 0; }
};

// The same value in both, over some runs.
struct Runs {
  std::span<const std::vector<float>> program;
  std::span<const std::vector<float>> model;  // row-major
};

struct Fit {
  Holding holding;
  double likeness = 0;  // the share of the program's numbers that the model's explain, 0 to 1
};

// Whether sizes allow that one holds the other.
bool may_hold(std::span<const std::int64_t> program, std::span<const std::int64_t> model);

// As the model has it, with channels last, or with the last axis as channels.
bool is_usual(const Holding& holding, std::span<const std::int64_t> model);

// The best of all ways. Of runs, some elements are looked at where there are many.
Fit best_fit(const Runs& runs, std::span<const std::int64_t> program, std::span<const std::int64_t> model,
             const Reading& reading);

// The program's numbers as the model's value would have them.
std::vector<float> as_in_model(std::span<const float> program, std::span<const std::int64_t> model,
                               const Holding& holding);

}  // namespace isthmus::fidelity
