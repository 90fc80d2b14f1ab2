// Turns an ONNX model into a graph of foreign calls. Branches, loops and sequences whose course is known are gone, and
// so are nodes that compute nothing but constants.
#pragma once

#include "base/diag.h"
#include "base/expected.h"
#include "formats/onnx/onnx.h"
#include "frontends/model.h"

namespace isthmus {

// Constants of the graph are views of the file's bytes and keep them alive. A file has no examples.
Expected<Model> load(const onnx::Model& model, Diagnostics& diagnostics);

}  // namespace isthmus
