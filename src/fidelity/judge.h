// What rounding does not explain, who is to blame, and which steps cost most.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include "fidelity/fidelity.h"
#include "fidelity/match.h"

namespace isthmus::fidelity {

// Whether a step's own error is more than rounding explains.
bool departs(const Step& step);

struct Evidence {
  const anatomy::Graph& program;
  const Graph& model;
  const Matching& matching;
  std::span<const std::optional<std::uint32_t>> makers;  // by value of the program
  const std::map<std::uint32_t, Step>& suspects;         // by value of the program: resemble a value of the model
  // Whether a value that has a match lies in memory as a value of the model does, or as that with channels last.
  std::function<bool(std::uint32_t)> is_in_place;
};

// Fills in the departure and the losses.
void judge(const Evidence& evidence, Verification& result);

}  // namespace isthmus::fidelity
