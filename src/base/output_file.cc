// Looks at a path before anything is written there.
#include "base/output_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace isthmus {

std::string followed(const std::string& path) {
  constexpr int kMaxLinks = 40;
  std::filesystem::path result = path;
  std::error_code error;
  for (int i = 0; i < kMaxLinks && std::filesystem::is_symlink(result, error); ++i) {
    const std::filesystem::path to = std::filesystem::read_symlink(result, error);
    if (error) break;
    result = to.is_absolute() ? to : result.parent_path() / to;
  }
  return result.string();
}

Expected<void> demand_writable(const std::string& path, std::span<const std::string> inputs) {
  const std::string file = followed(path);
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorKind::kEnvironment, fmt::format("cannot write {}: {}", path, why));
  };
  struct stat found {};
  if (::stat(file.c_str(), &found) == 0) {
    if (S_ISDIR(found.st_mode)) return refuse("it is a folder");
    if (::access(file.c_str(), W_OK) != 0) return refuse(std::strerror(errno));
    for (const std::string& input : inputs) {
      struct stat other {};
      if (input.empty() || ::stat(input.c_str(), &other) != 0) continue;
      if (S_ISREG(found.st_mode) && other.st_dev == found.st_dev && other.st_ino == found.st_ino) {
        return refuse(fmt::format("it is the input {}", input));
      }
    }
    if (!S_ISREG(found.st_mode)) return {};
  }
  const std::string folder = std::filesystem::path(file).parent_path().string();
  const char* where = folder.empty() ? "." : folder.c_str();
  struct stat parent {};
  if (::stat(where, &parent) != 0) return refuse(fmt::format("{}: {}", where, std::strerror(errno)));
  if (!S_ISDIR(parent.st_mode)) return refuse(fmt::format("{} is not a folder", where));
  if (::access(where, W_OK | X_OK) != 0) return refuse(fmt::format("{}: {}", where, std::strerror(errno)));
  return {};
}

}  // namespace isthmus
