// Small models with correct quantized graphs, written by hand, for tests of the proof.
#pragma once

#include <span>
#include <string_view>

#include "quantize/apply/apply.h"

namespace isthmus::test {

struct QuantizedCase {
  std::string_view name;
  std::string_view model;
  // Values stand for those of the model that have their names.
  std::string_view quantized;
  // Values whose scale, and whose zero point, no demand ties to anything: names with spaces between them.
  std::string_view free_scales;
  std::string_view free_zero_points;
  IoType io = IoType::kFloat;
};
std::span<const QuantizedCase> quantized_cases();
const QuantizedCase& quantized_case(std::string_view name);

Graph graph_of(std::string_view text);
Quantized quantized_of(std::string_view text, const Graph& model);

}  // namespace isthmus::test
