// Refuses numbers that are none, before anything is computed from them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/expected.h"
#include "calibrate/samples.h"
#include "interpret/tensor.h"
#include "ir/graph.h"

namespace isthmus {

// Fails where an f32 input has NaN or infinite numbers. `number` is that of the sample, for the message.
Expected<void> check_finite(const Graph& graph, std::span<const Tensor> sample, std::size_t number);

// The same samples, each checked when it is read. `graph` must outlive them.
std::unique_ptr<Samples> finite_samples(std::unique_ptr<Samples> source, const Graph& graph);

}  // namespace isthmus
