// Which value of a model each value of a program holds: told by numbers, in the order of both graphs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "fidelity/holding.h"
#include "fidelity/numbers.h"
#include "interpret/tensor.h"
#include "ir/graph.h"
#include "program/anatomy/anatomy.h"

namespace isthmus::fidelity {

// What both graphs compute from one sample, by value.
struct RunValues {
  std::vector<std::vector<float>> program;       // empty: it cannot be seen
  std::vector<std::vector<std::int64_t>> sizes;  // of these, in the order of memory
  std::vector<std::optional<Tensor>> model;
};

struct Match {
  ValueId value;  // of the model
  Holding holding;
};

struct Matching {
  std::vector<std::optional<Match>> matches;       // by value of the program
  std::vector<std::vector<std::uint32_t>> fronts;  // by node: the nearest values before it that have a match
};

// Whether a value, of a node with this front, is what the model makes of the front. One that only resembles it is a
// step of something, such as the difference from a mean, or is wrong: what follows will tell.
using IsMade =
    std::function<Expected<bool>(std::uint32_t value, const Match& match, std::span<const std::uint32_t> front)>;

// Inputs hold inputs and outputs hold outputs, whatever their numbers. Between them, a value may hold any that the
// model makes, in a few steps, of those held before.
// `is_made` sees what is matched so far in `result`.
Expected<void> match_values(const anatomy::Graph& program, std::span<const Reading> readings, const Graph& model,
                            std::span<const RunValues> runs, const IsMade& is_made, Matching& result);

// Whether a value that has a match lies in memory as that, or another value of the model with the same numbers, does in
// a usual order of axes.
bool is_in_place(std::span<const Reading> readings, const Graph& model, std::span<const RunValues> runs,
                 const Matching& matching, std::uint32_t value);

// Forgets the matches of all other values.
void keep_matches(const anatomy::Graph& program, const std::vector<bool>& kept, Matching& matching);

}  // namespace isthmus::fidelity
