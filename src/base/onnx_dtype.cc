// One row for each element type of ONNX.
#include "base/onnx_dtype.h"

#include <algorithm>
#include <array>
#include <string>

namespace isthmus {
namespace {

struct OnnxType {
  std::int64_t number;
  std::string_view name;
  std::optional<DType> dtype;
};
constexpr std::array kOnnxTypes = {
    OnnxType{1, "FLOAT", DType::kF32},
    OnnxType{2, "UINT8", DType::kU8},
    OnnxType{3, "INT8", DType::kI8},
    OnnxType{4, "UINT16", DType::kU16},
    OnnxType{5, "INT16", DType::kI16},
    OnnxType{6, "INT32", DType::kI32},
    OnnxType{7, "INT64", DType::kI64},
    OnnxType{8, "STRING", std::nullopt},
    OnnxType{9, "BOOL", DType::kBool},
    OnnxType{10, "FLOAT16", DType::kF16},
    OnnxType{11, "DOUBLE", DType::kF64},
    OnnxType{12, "UINT32", DType::kU32},
    OnnxType{13, "UINT64", DType::kU64},
    OnnxType{14, "COMPLEX64", DType::kC64},
    OnnxType{15, "COMPLEX128", DType::kC128},
    OnnxType{16, "BFLOAT16", DType::kBF16},
    OnnxType{17, "FLOAT8E4M3FN", DType::kF8E4M3FN},
    OnnxType{18, "FLOAT8E4M3FNUZ", DType::kF8E4M3FNUZ},
    OnnxType{19, "FLOAT8E5M2", DType::kF8E5M2},
    OnnxType{20, "FLOAT8E5M2FNUZ", DType::kF8E5M2FNUZ},
    OnnxType{21, "UINT4", std::nullopt},
    OnnxType{22, "INT4", std::nullopt},
    OnnxType{23, "FLOAT4E2M1", std::nullopt},
    OnnxType{24, "FLOAT8E8M0", DType::kF8E8M0FNU},
    OnnxType{25, "UINT2", std::nullopt},
    OnnxType{26, "INT2", std::nullopt},
};

}  // namespace

Expected<DType> dtype_from_onnx(std::int64_t number) {
  const auto* const row = std::ranges::find(kOnnxTypes, number, &OnnxType::number);
  if (row == kOnnxTypes.end()) return bad_input("an element type of number " + std::to_string(number));
  if (!row->dtype) return fail(ErrorKind::kUnsupported, "elements of type " + std::string(row->name));
  return *row->dtype;
}

}  // namespace isthmus
