// Nodes of quantized graphs against double: what integer kernels compute is close to what their ops mean.
#pragma once

#include <map>
#include <string>

#include "interpret/tensor.h"
#include "ir/graph.h"

namespace isthmus::test {

// Of every node that adds, multiplies, averages or normalizes quantized values: the reference kernel in double, of the
// numbers that the quantized values of its inputs mean. The empty string where no quantized value of its result is
// farther from that than half a step and what the device's multipliers cost: a tenth of a step, with int16 values a
// whole step more, and two units of the scale in which quantized values are added. Functions of one number are tested
// with every quantized value elsewhere.
std::string inexact_node(const Graph& graph, const std::map<ValueId, Tensor>& values);

}  // namespace isthmus::test
