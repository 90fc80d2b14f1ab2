// What an operator of a delegate has besides its inputs, as text: "axis=1", "stride=[2,2] padding=[1,1,1,1]".
#pragma once

#include <string>

#include "formats/executorch/xnn_blob.h"
#include "formats/tosa/tosa.h"

namespace isthmus::anatomy {

std::string fields_text(const xnn::Node& node);
std::string fields_text(const tosa::Operator& op);

}  // namespace isthmus::anatomy
