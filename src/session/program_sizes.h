// A model at the sizes of a program that is compared with it.
#pragma once

#include <functional>
#include <vector>

#include "base/expected.h"
#include "frontends/onnx/fix_inputs.h"
#include "ir/graph.h"
#include "program/run/method.h"
#include "session/open_model.h"
#include "session/prepare.h"

namespace isthmus {

// Opens the model that a program is compared with, where its inputs have the sizes of the program.
using ReferenceOpener = std::function<Expected<const OpenModel*>(const SizesOfInputs& sizes)>;

// Of the inputs that have just one.
SizesOfInputs sizes_of(const std::vector<run::TensorInfo>& inputs);

// The options with these sizes for the inputs of the model.
PrepareOptions at_sizes(PrepareOptions options, const Graph& model, const SizesOfInputs& sizes);

}  // namespace isthmus
