// The table of what a pickle may name.
#include "formats/torch/pickle_globals.h"

namespace isthmus::pickle {
namespace {

constexpr Global kGlobals[] = {
    {"torch._utils", "_rebuild_tensor_v2", Role::kRebuildTensor, {}},
    {"torch._utils", "_rebuild_tensor_v3", Role::kRebuildTensorV3, {}},
    {"torch._utils", "_rebuild_parameter", Role::kRebuildParameter, {}},
    {"torch._utils", "_rebuild_parameter_with_state", Role::kRebuildParameter, {}},
    {"torch._tensor", "_rebuild_from_type_v2", Role::kRebuildFromType, {}},
    {"torch", "Tensor", Role::kTensorType, {}},
    {"torch.nn.parameter", "Parameter", Role::kTensorType, {}},
    {"collections", "OrderedDict", Role::kOrderedDict, {}},
    {"torch", "FloatStorage", Role::kStorage, DType::kF32},
    {"torch", "DoubleStorage", Role::kStorage, DType::kF64},
    {"torch", "HalfStorage", Role::kStorage, DType::kF16},
    {"torch", "BFloat16Storage", Role::kStorage, DType::kBF16},
    {"torch", "BoolStorage", Role::kStorage, DType::kBool},
    {"torch", "ByteStorage", Role::kStorage, DType::kU8},
    {"torch", "CharStorage", Role::kStorage, DType::kI8},
    {"torch", "ShortStorage", Role::kStorage, DType::kI16},
    {"torch", "IntStorage", Role::kStorage, DType::kI32},
    {"torch", "LongStorage", Role::kStorage, DType::kI64},
    {"torch", "ComplexFloatStorage", Role::kStorage, DType::kC64},
    {"torch", "ComplexDoubleStorage", Role::kStorage, DType::kC128},
    {"torch", "UntypedStorage", Role::kStorage, {}},
    {"torch.storage", "UntypedStorage", Role::kStorage, {}},
    {"torch", "bool", Role::kDType, DType::kBool},
    {"torch", "uint8", Role::kDType, DType::kU8},
    {"torch", "uint16", Role::kDType, DType::kU16},
    {"torch", "uint32", Role::kDType, DType::kU32},
    {"torch", "uint64", Role::kDType, DType::kU64},
    {"torch", "int8", Role::kDType, DType::kI8},
    {"torch", "int16", Role::kDType, DType::kI16},
    {"torch", "int32", Role::kDType, DType::kI32},
    {"torch", "int64", Role::kDType, DType::kI64},
    {"torch", "float16", Role::kDType, DType::kF16},
    {"torch", "bfloat16", Role::kDType, DType::kBF16},
    {"torch", "float32", Role::kDType, DType::kF32},
    {"torch", "float64", Role::kDType, DType::kF64},
    {"torch", "float8_e4m3fn", Role::kDType, DType::kF8E4M3FN},
    {"torch", "float8_e5m2", Role::kDType, DType::kF8E5M2},
    {"torch", "float8_e4m3fnuz", Role::kDType, DType::kF8E4M3FNUZ},
    {"torch", "float8_e5m2fnuz", Role::kDType, DType::kF8E5M2FNUZ},
    {"torch", "float8_e8m0fnu", Role::kDType, DType::kF8E8M0FNU},
    {"torch", "complex32", Role::kDType, DType::kC32},
    {"torch", "complex64", Role::kDType, DType::kC64},
    {"torch", "complex128", Role::kDType, DType::kC128},
};

}  // namespace

std::span<const Global> known_globals() { return kGlobals; }

std::optional<std::uint32_t> find_global(std::string_view module, std::string_view name) {
  for (std::uint32_t index = 0; index < std::size(kGlobals); ++index) {
    if (kGlobals[index].module == module && kGlobals[index].name == name) return index;
  }
  return std::nullopt;
}

}  // namespace isthmus::pickle
