// The descriptions of the targets that are reached through TOSA: its integer profile, and Ethos-U.
#pragma once

#include <optional>
#include <span>

#include "targets/ethos_u/device.h"
#include "targets/target.h"

namespace isthmus::ethos_u {

// Sorted by name.
std::span<const TargetDesc> descs();

// Whose inputs and results have one set of parameters.
std::span<const SharingRow> sharing();

// Why a float node has no form on the device whose data have this type; nothing where it has one.
std::optional<Reason> quantized_refusal(const Graph& graph, const Node& node, QuantizedTypes quantized, Device device);
// Why a node of a quantized graph cannot run on the device; nothing where it can.
std::optional<Reason> refusal(const Graph& graph, const Node& node, Device device);

}  // namespace isthmus::ethos_u
