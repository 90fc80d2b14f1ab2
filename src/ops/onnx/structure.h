// Operators of ONNX that say how others run: branches, loops, sequences of tensors. None of them computes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace isthmus {

enum class OnnxStructure : std::uint8_t {
  kIf,
  kLoop,
  kScan,
  kSequenceConstruct,
  kSequenceEmpty,
  kSequenceAt,
  kSequenceInsert,
  kSequenceErase,
  kSequenceLength,
  kConcatFromSequence,
  kSplitToSequence,
  kSequenceMap,
  kOptional,
  kOptionalGetElement,
  kOptionalHasElement,
};
std::optional<OnnxStructure> onnx_structure(std::string_view domain, std::string_view op_type);

// What unrolling needs besides the model's own operators.
inline constexpr std::string_view kOnnxStack = "onnx.isthmus.Stack";    // tensors along a new axis
inline constexpr std::string_view kOnnxJoin = "onnx.isthmus.Join";      // tensors along an axis
inline constexpr std::string_view kOnnxSelect = "onnx.isthmus.Select";  // `size` positions of an axis from `start` on

}  // namespace isthmus
