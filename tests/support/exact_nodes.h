// Nodes of quantized graphs against double: what integer kernels compute is close to what their ops mean.
#pragma once

#include <map>
#include <string>

#include "interpret/tensor.h"
#include "ir/graph.h"

namespace isthmus::test {

// Of every node that adds, multiplies, averages or normalizes codes: the reference kernel in double, of the numbers
// that the codes of its inputs mean. The empty string where no code of its result is farther from that than half a step
// and what the device's multipliers cost: a tenth of a step, with codes of 16 bits a whole step more, and two units of
// the scale in which codes are added. Functions of one number are tested with every code elsewhere.
std::string inexact_node(const Graph& graph, const std::map<ValueId, Tensor>& values);

}  // namespace isthmus::test
