// The noise that rounding to integers explains.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fidelity/match.h"
#include "program/anatomy/anatomy.h"

namespace isthmus::fidelity {

// The nodes of a program between a front of values and a node that reads what is made of them, in order, this one too.
std::vector<std::uint32_t> nodes_behind(const anatomy::Graph& program,
                                        std::span<const std::optional<std::uint32_t>> makers,
                                        std::span<const std::uint32_t> front, std::uint32_t node);

// What is needed to tell.
struct Roundings {
  const anatomy::Graph& program;
  std::span<const Reading> readings;
  std::span<const std::optional<std::uint32_t>> makers;  // by value
  std::span<const RunValues> runs;
};

// Noise to signal of a node's result, of all that is between a front and it: weights, and values on the way.
double relative_rounding(const Roundings& known, std::span<const std::uint32_t> front, std::uint32_t node);

// The noise that its own steps make of so many numbers of a value.
double own_rounding(const Roundings& known, std::uint32_t value, const Holding& holding, std::size_t count);

}  // namespace isthmus::fidelity
