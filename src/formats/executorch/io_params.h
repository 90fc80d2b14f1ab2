// The quantization parameters of a method's inputs and outputs, which a program file holds as constant methods:
// input0_scale, input0_zp, input0_quant_min, input0_quant_max, input0_dtype, output0_scale, ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/dtype.h"
#include "formats/executorch/pte.h"

namespace isthmus::pte {

enum class IoSide : std::uint8_t { kInput, kOutput };

struct IoParams {
  double scale = 0;
  std::int64_t zero_point = 0;
  DType dtype = DType::kI8;
};

// Adds the methods that return them.
void add_io_params(Program& program, IoSide side, std::size_t index, const IoParams& params);

// Nothing where the file does not hold all of them, or holds something else under their names.
std::optional<IoParams> find_io_params(const Program& program, IoSide side, std::size_t index);

// Whether a method of this name is one of them.
bool is_io_method(std::string_view name);

}  // namespace isthmus::pte
