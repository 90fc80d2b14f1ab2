// The operators and element types of TOSA that nodes become, by name. The same names as in the file format's structs:
// this file goes when they are here.
#pragma once

#include <cstdint>
#include <string_view>

namespace isthmus::tosa {

enum class Type : std::uint8_t { kUnknown = 0, kBool = 1, kI4 = 2, kI8 = 3, kI16 = 4, kI32 = 5, kI48 = 6 };

inline std::string_view name_of(Type type) {
  constexpr std::string_view kNames[] = {"unknown", "bool", "i4", "i8", "i16", "i32", "i48"};
  return kNames[static_cast<std::size_t>(type)];
}

#define ISTHMUS_TOSA_OPS(OP)                          \
  OP(kInvalid, "any operator")                        \
  OP(kArgMax, "ARGMAX")                               \
  OP(kAvgPool2d, "AVG_POOL2D")                        \
  OP(kConv2d, "CONV2D")                               \
  OP(kDepthwiseConv2d, "DEPTHWISE_CONV2D")            \
  OP(kMatMul, "MATMUL")                               \
  OP(kMaxPool2d, "MAX_POOL2D")                        \
  OP(kTransposeConv2d, "TRANSPOSE_CONV2D")            \
  OP(kClamp, "CLAMP")                                 \
  OP(kAdd, "ADD")                                     \
  OP(kArithmeticRightShift, "ARITHMETIC_RIGHT_SHIFT") \
  OP(kBitwiseAnd, "BITWISE_AND")                      \
  OP(kBitwiseOr, "BITWISE_OR")                        \
  OP(kBitwiseXor, "BITWISE_XOR")                      \
  OP(kIntDiv, "INTDIV")                               \
  OP(kLogicalAnd, "LOGICAL_AND")                      \
  OP(kLogicalLeftShift, "LOGICAL_LEFT_SHIFT")         \
  OP(kLogicalRightShift, "LOGICAL_RIGHT_SHIFT")       \
  OP(kLogicalOr, "LOGICAL_OR")                        \
  OP(kLogicalXor, "LOGICAL_XOR")                      \
  OP(kMaximum, "MAXIMUM")                             \
  OP(kMinimum, "MINIMUM")                             \
  OP(kMul, "MUL")                                     \
  OP(kSub, "SUB")                                     \
  OP(kTable, "TABLE")                                 \
  OP(kAbs, "ABS")                                     \
  OP(kBitwiseNot, "BITWISE_NOT")                      \
  OP(kClz, "CLZ")                                     \
  OP(kLogicalNot, "LOGICAL_NOT")                      \
  OP(kNegate, "NEGATE")                               \
  OP(kSelect, "SELECT")                               \
  OP(kEqual, "EQUAL")                                 \
  OP(kGreater, "GREATER")                             \
  OP(kGreaterEqual, "GREATER_EQUAL")                  \
  OP(kReduceAll, "REDUCE_ALL")                        \
  OP(kReduceAny, "REDUCE_ANY")                        \
  OP(kReduceMax, "REDUCE_MAX")                        \
  OP(kReduceMin, "REDUCE_MIN")                        \
  OP(kReduceSum, "REDUCE_SUM")                        \
  OP(kConcat, "CONCAT")                               \
  OP(kPad, "PAD")                                     \
  OP(kReshape, "RESHAPE")                             \
  OP(kReverse, "REVERSE")                             \
  OP(kSlice, "SLICE")                                 \
  OP(kTile, "TILE")                                   \
  OP(kTranspose, "TRANSPOSE")                         \
  OP(kGather, "GATHER")                               \
  OP(kScatter, "SCATTER")                             \
  OP(kResize, "RESIZE")                               \
  OP(kCast, "CAST")                                   \
  OP(kRescale, "RESCALE")                             \
  OP(kIdentity, "IDENTITY")

enum class Op : std::uint8_t {
#define ISTHMUS_ENUMERATOR(enumerator, name) enumerator,
  ISTHMUS_TOSA_OPS(ISTHMUS_ENUMERATOR)
#undef ISTHMUS_ENUMERATOR
};

inline std::string_view name_of(Op op) {
  constexpr std::string_view kNames[] = {
#define ISTHMUS_NAME(enumerator, name) name,
      ISTHMUS_TOSA_OPS(ISTHMUS_NAME)
#undef ISTHMUS_NAME
  };
  return kNames[static_cast<std::size_t>(op)];
}

}  // namespace isthmus::tosa
