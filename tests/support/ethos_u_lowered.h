// Quantized models on the devices behind TOSA: lowered, and computed by both interpreters.
#pragma once

#include <map>
#include <span>
#include <string>

#include "session/stages.h"
#include "targets/ethos_u/device.h"

namespace isthmus::test {

struct EthosUTarget {
  const char* name;
  ethos_u::Device device;
};
inline constexpr EthosUTarget kEthosUTargets[] = {
    {"tosa-int", ethos_u::Device::kTosaInt},
    {"ethos-u55-128", ethos_u::Device::kU55},
    {"ethos-u85-256", ethos_u::Device::kU85},
};

// Calibrated on these samples.
Expected<QuantizedModel> quantized_for(const Prepared& prepared, const TargetDesc& target, Samples& samples,
                                       const QuantConfig& config);

using OperatorCounts = std::map<std::string, std::size_t>;

// Each segment as the bytes of a TOSA graph, from what the integer interpreter made of its inputs, node by node: the
// empty string where the segment as a whole gives the same bits, and the nodes are close to what double computes (see
// exact_nodes.h); else what went wrong. Adds to the counts what it found inside.
std::string segments_problem(const QuantizedModel& model, ethos_u::Device device, std::span<const Tensor> inputs,
                             OperatorCounts& counts);
// The same of a model that must be one segment.
std::string lowered_problem(const QuantizedModel& model, ethos_u::Device device, std::span<const Tensor> inputs);

}  // namespace isthmus::test
