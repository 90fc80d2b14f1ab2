// Models as PyTorch's convert_pt2e leaves them: pairs of quantize and dequantize around what it has quantized.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "interpret/tensor.h"
#include "quantize/config/pins.h"
#include "stats/statistics.h"

namespace isthmus::test {

// The parameters of a value of a canonical graph; nothing where it stays in float.
using Given = std::function<std::optional<Pin>(const Graph&, ValueId)>;

// Every value that is given parameters is rounded to them before any node reads it, by nodes that go by PyTorch's
// names. Weights of layers is quantized with a scale for each channel.
Graph converted(const Graph& canonical, const Given& given);

// Parameters of every real value by what it holds for these inputs, each for itself: none are shared, as if no
// quantizer knew a mover or a join. What stands between a layer and its clamp has none.
Given each_for_itself(const Graph& canonical, const std::vector<Tensor>& inputs);

}  // namespace isthmus::test
