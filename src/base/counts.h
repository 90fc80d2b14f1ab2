// Counts as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace isthmus {

// "1,234,567"
std::string with_separators(std::uint64_t number);
// "1 call", "2 calls".
std::string counted(std::uint64_t count, std::string_view noun);

}  // namespace isthmus
