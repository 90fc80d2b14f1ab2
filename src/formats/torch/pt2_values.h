// The values inside an exported program's JSON: arguments, symbolic scalars, descriptions of tensors.
#pragma once

#include "base/dtype.h"
#include "base/expected.h"
#include "formats/json.h"
#include "formats/torch/pt2.h"

namespace isthmus::pt2 {

Expected<std::string> read_text(json::Value value);
Expected<DType> read_dtype(json::Value value);
Expected<Layout> read_layout(json::Value value);
Expected<Device> read_device(json::Value value);
Expected<SymInt> read_sym_int(json::Value value);
Expected<TensorMeta> read_tensor_meta(json::Value value);

// One of the some thirty forms of an argument; a form that no reader of ours can use becomes an Unreadable.
Expected<ArgumentValue> read_argument(json::Value value);

// The nodes and values of a graph.
Expected<void> read_body(json::Value graph, Body& body);

// The value of a symbolic float or bool, as text.
Expected<SymExpr> read_sym_text(json::Value value);

}  // namespace isthmus::pt2
