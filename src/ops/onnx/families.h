// The families of ONNX's operators; each is a file of this folder.
#pragma once

#include "ops/op_def.h"

namespace isthmus::onnx_ops {

Family elementwise_family();
Family movement_family();
Family index_family();
Family creation_family();
Family layer_family();
Family pool_family();
Family norm_family();
Family reduce_family();
Family image_family();
Family recurrent_family();
Family quantize_family();
Family fused_family();
Family structure_family();

}  // namespace isthmus::onnx_ops
