// The hash by which program files name their data.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace isthmus {

// 64 lowercase hexadecimal digits.
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace isthmus
