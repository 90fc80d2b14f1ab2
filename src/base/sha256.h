// The hash by which program files name their data, and pages their scripts.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace isthmus {

// 64 lowercase hexadecimal digits.
std::string sha256_hex(std::span<const std::byte> bytes);
// The same in base64.
std::string sha256_base64(std::span<const std::byte> bytes);

}  // namespace isthmus
