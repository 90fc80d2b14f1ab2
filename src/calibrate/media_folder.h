// Which files of a folder are samples, and of which class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"

namespace isthmus {

enum class MediaKind : std::uint8_t { kArrays, kImages, kSound, kRaw };

struct MediaFolder {
  MediaKind kind = MediaKind::kArrays;
  std::vector<std::string> files;    // full paths
  std::vector<std::string> classes;  // the folders below, sorted; empty where samples lie in the folder itself
  std::vector<std::int64_t> labels;  // with classes: of each file its folder's place among them
};

// By the ending of a file's name, in any case; nothing for files of no kind.
std::optional<MediaKind> media_kind(std::string_view file);

// The files that are not hidden, in the order of their paths, below folders that name classes too. Of more than `most`
// files, arrays are the first ones, and media are spread evenly, so that all classes are among them. Fails where there
// are none, or files of several kinds.
Expected<MediaFolder> list_media(const std::string& path, std::size_t limit);

}  // namespace isthmus
