// A TOSA graph that shows its values: a second one of which every value is an output.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "formats/tosa/tosa.h"
#include "program/run/delegate.h"
#include "targets/tosa/interpreter.h"

namespace isthmus::run {

class ShownTosa {
 public:
  static Expected<ShownTosa> load(const tosa::Graph& graph, const tosa::LoadOptions& options);

  // Shows every value that is made, in the order of the operators.
  Expected<void> run(std::span<const Tensor> inputs, const ShowValue& show) const;

 private:
  ShownTosa(tosa::Interpreter interpreter, std::vector<tosa::ValueIndex> values)
      : interpreter_(std::move(interpreter)), values_(std::move(values)) {}

  tosa::Interpreter interpreter_;
  std::vector<tosa::ValueIndex> values_;
};

}  // namespace isthmus::run
