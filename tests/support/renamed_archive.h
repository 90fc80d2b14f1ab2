// Archives whose operators go by other names, for tests of what happens to unknown ones.
#pragma once

#include <filesystem>
#include <string>

namespace isthmus::test {

// Writes the archive anew with every `from` of its texts replaced by `to`.
void write_renamed(const std::filesystem::path& archive, const std::string& from, const std::string& to,
                   const std::filesystem::path& out);

}  // namespace isthmus::test
