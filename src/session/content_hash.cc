// Hashes files one after another.
#include "session/content_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/sha256.h"
#include "session/open_model.h"

namespace isthmus {

Expected<std::string> content_hash(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return sha256_hex(TRY(map_file(path)).bytes());
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path, error)) {
    if (entry.is_regular_file(error)) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::string all;
  for (const std::filesystem::path& file : files) {
    all += fmt::format("{} {}\n", file.lexically_relative(path).string(),
                       sha256_hex(TRY(map_file(file.string())).bytes()));
  }
  return sha256_hex(std::as_bytes(std::span(all)));
}

Expected<std::string> model_hash(const std::string& path) {
  const OpenFile file = TRY(open_file(path));
  std::string all = sha256_hex(file.bytes.bytes());
  if (file.kind != FileKind::kOnnx) return all;
  const auto beside = onnx::files_in(std::filesystem::path(path).parent_path().string());
  const auto hashed = [&](const std::string& location) -> Expected<Blob> {
    Blob bytes = TRY(beside(location));
    const std::string line = fmt::format("\n{} ", location);
    if (all.find(line) == std::string::npos) all += line + sha256_hex(bytes.bytes());
    return bytes;
  };
  TRY(within(onnx::read_model(file.bytes, hashed), path));
  return sha256_hex(std::as_bytes(std::span(all)));
}

}  // namespace isthmus
