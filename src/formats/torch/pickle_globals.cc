// The table of what a pickle may name.
#include "formats/torch/pickle_globals.h"

namespace isthmus::pickle {
namespace {

constexpr Global kGlobals[] = {
    {.module = "torch._utils", .name = "_rebuild_tensor_v2", .role = Role::kRebuildTensor},
    {.module = "torch._utils", .name = "_rebuild_tensor_v3", .role = Role::kRebuildTensorV3},
    {.module = "torch._utils", .name = "_rebuild_parameter", .role = Role::kRebuildParameter},
    {.module = "torch._utils", .name = "_rebuild_parameter_with_state", .role = Role::kRebuildParameter},
    {.module = "torch._tensor", .name = "_rebuild_from_type_v2", .role = Role::kRebuildFromType},
    {.module = "torch", .name = "Tensor", .role = Role::kTensorType},
    {.module = "torch.nn.parameter", .name = "Parameter", .role = Role::kTensorType},
    {.module = "collections", .name = "OrderedDict", .role = Role::kOrderedDict},
    {.module = "torch", .name = "FloatStorage", .role = Role::kStorage, .dtype = DType::kF32},
    {.module = "torch", .name = "DoubleStorage", .role = Role::kStorage, .dtype = DType::kF64},
    {.module = "torch", .name = "HalfStorage", .role = Role::kStorage, .dtype = DType::kF16},
    {.module = "torch", .name = "BFloat16Storage", .role = Role::kStorage, .dtype = DType::kBF16},
    {.module = "torch", .name = "BoolStorage", .role = Role::kStorage, .dtype = DType::kBool},
    {.module = "torch", .name = "ByteStorage", .role = Role::kStorage, .dtype = DType::kU8},
    {.module = "torch", .name = "CharStorage", .role = Role::kStorage, .dtype = DType::kI8},
    {.module = "torch", .name = "ShortStorage", .role = Role::kStorage, .dtype = DType::kI16},
    {.module = "torch", .name = "IntStorage", .role = Role::kStorage, .dtype = DType::kI32},
    {.module = "torch", .name = "LongStorage", .role = Role::kStorage, .dtype = DType::kI64},
    {.module = "torch", .name = "ComplexFloatStorage", .role = Role::kStorage, .dtype = DType::kC64},
    {.module = "torch", .name = "ComplexDoubleStorage", .role = Role::kStorage, .dtype = DType::kC128},
    {.module = "torch", .name = "UntypedStorage", .role = Role::kStorage},
    {.module = "torch.storage", .name = "UntypedStorage", .role = Role::kStorage},
    {.module = "torch", .name = "bool", .role = Role::kDType, .dtype = DType::kBool},
    {.module = "torch", .name = "uint8", .role = Role::kDType, .dtype = DType::kU8},
    {.module = "torch", .name = "uint16", .role = Role::kDType, .dtype = DType::kU16},
    {.module = "torch", .name = "uint32", .role = Role::kDType, .dtype = DType::kU32},
    {.module = "torch", .name = "uint64", .role = Role::kDType, .dtype = DType::kU64},
    {.module = "torch", .name = "int8", .role = Role::kDType, .dtype = DType::kI8},
    {.module = "torch", .name = "int16", .role = Role::kDType, .dtype = DType::kI16},
    {.module = "torch", .name = "int32", .role = Role::kDType, .dtype = DType::kI32},
    {.module = "torch", .name = "int64", .role = Role::kDType, .dtype = DType::kI64},
    {.module = "torch", .name = "float16", .role = Role::kDType, .dtype = DType::kF16},
    {.module = "torch", .name = "bfloat16", .role = Role::kDType, .dtype = DType::kBF16},
    {.module = "torch", .name = "float32", .role = Role::kDType, .dtype = DType::kF32},
    {.module = "torch", .name = "float64", .role = Role::kDType, .dtype = DType::kF64},
    {.module = "torch", .name = "float8_e4m3fn", .role = Role::kDType, .dtype = DType::kF8E4M3FN},
    {.module = "torch", .name = "float8_e5m2", .role = Role::kDType, .dtype = DType::kF8E5M2},
    {.module = "torch", .name = "float8_e4m3fnuz", .role = Role::kDType, .dtype = DType::kF8E4M3FNUZ},
    {.module = "torch", .name = "float8_e5m2fnuz", .role = Role::kDType, .dtype = DType::kF8E5M2FNUZ},
    {.module = "torch", .name = "float8_e8m0fnu", .role = Role::kDType, .dtype = DType::kF8E8M0FNU},
    {.module = "torch", .name = "complex32", .role = Role::kDType, .dtype = DType::kC32},
    {.module = "torch", .name = "complex64", .role = Role::kDType, .dtype = DType::kC64},
    {.module = "torch", .name = "complex128", .role = Role::kDType, .dtype = DType::kC128},
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
