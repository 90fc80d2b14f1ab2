// The families that make up the op table; each is a file of this folder.
#pragma once

#include "ops/op_def.h"

namespace isthmus {

Family movement_family();
Family pad_family();
Family join_family();
Family index_family();
Family type_family();
Family creation_family();
Family quantize_family();
Family dynamic_family();
Family binary_family();
Family compare_family();
Family unary_family();
Family activation_family();
Family reduce_family();
Family order_family();
Family scan_family();
Family conv_family();
Family product_family();
Family pool_family();
Family norm_family();
Family attention_family();
Family image_family();
Family recurrent_family();

}  // namespace isthmus
