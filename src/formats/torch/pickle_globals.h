// The list of what a pickle may name. Everything else is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/dtype.h"

namespace isthmus::pickle {

enum class Role : std::uint8_t {
  kStorage,           // a storage type: typed, or bytes where `dtype` is empty
  kDType,             // an element type as a value
  kTensorType,        // a type that only accompanies kRebuildFromType
  kOrderedDict,       // () -> an empty dict
  kRebuildTensor,     // (storage, offset, sizes, strides, requires_grad, hooks[, metadata]) -> tensor
  kRebuildTensorV3,   // (storage, offset, sizes, strides, requires_grad, hooks, dtype[, metadata]) -> tensor
  kRebuildParameter,  // (tensor, requires_grad, hooks[, state]) -> the tensor
  kRebuildFromType,   // (function, type, arguments, state) -> function(arguments)
};

struct Global {
  std::string_view module;
  std::string_view name;
  Role role;
  std::optional<DType> dtype = std::nullopt;
};

// The whole list; `find_global` gives an index into it.
std::span<const Global> known_globals();
std::optional<std::uint32_t> find_global(std::string_view module, std::string_view name);

}  // namespace isthmus::pickle
