// What is in a TOSA file, for a person and for a program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/tosa/tosa.h"
#include "report/rows.h"

namespace isthmus {

// All that `isthmus inspect` says about a TOSA file.
struct TosaSummary {
  struct Tensor {
    std::string name;
    std::string dtype;
    std::vector<std::int32_t> shape;
  };
  std::string file;
  std::uint64_t bytes = 0;
  std::string version;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::size_t operators = 0;  // constants are none
  Counts ops;
  std::size_t constants = 0;
  std::uint64_t constant_bytes = 0;  // bytes that two of them share count once
  std::uint64_t products = 0;        // multiplications of convolutions and matrices
  std::string problem;               // why it cannot be run; empty if it can
};

// What a delegate that is a TOSA graph costs.
struct TosaFigures {
  std::uint64_t bytes = 0;
  std::size_t operators = 0;  // constants are none
  std::uint64_t products = 0;
  std::size_t transposes = 0;
};
TosaFigures figures_of(std::uint64_t bytes, const tosa::Graph& graph);

TosaSummary summarize(const std::string& file, std::uint64_t bytes, const tosa::Graph& graph);

std::string to_text(const TosaSummary& summary, TextStyle style);
std::string to_json(const TosaSummary& summary);

}  // namespace isthmus
