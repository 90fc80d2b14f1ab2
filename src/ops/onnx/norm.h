// Normalizations that several readers of ONNX's operators share.
#pragma once

#include "ops/onnx/reading.h"

namespace isthmus::onnx_ops {

// Over all axes from `axis` on. With mean and reciprocal deviation where the call has more than one result.
Expected<Values> layer_norm(Call& call, ValueId x, std::optional<ValueId> scale, std::optional<ValueId> bias,
                            std::int64_t axis, double eps);
Expected<ValueId> rms_norm(Call& call, ValueId x, std::optional<ValueId> scale, std::int64_t axis, double eps);

}  // namespace isthmus::onnx_ops
