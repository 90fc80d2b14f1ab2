#include "calibrate/media_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

#include "base/untrusted_text.h"

namespace isthmus {
namespace {

struct Ending {
  std::string_view text;
  MediaKind kind;
};
constexpr Ending kEndings[] = {
    {".npy", MediaKind::kArrays},  {".npz", MediaKind::kArrays}, {".jpg", MediaKind::kImages},
    {".jpeg", MediaKind::kImages}, {".png", MediaKind::kImages}, {".wav", MediaKind::kSound},
    {".bin", MediaKind::kRaw},
};

struct Found {
  std::string path;
  std::string class_name;  // the first folder below the one that was named
};

bool is_hidden(const std::filesystem::path& path) { return path.filename().string().starts_with('.'); }

// Files of each kind; those in folders below count for media alone.
Expected<std::map<MediaKind, std::vector<Found>>> find_files(const std::string& folder) {
  std::map<MediaKind, std::vector<Found>> found;
  std::error_code problem;
  std::filesystem::recursive_directory_iterator entry(folder, problem);
  for (const std::filesystem::recursive_directory_iterator end; !problem && entry != end; entry.increment(problem)) {
    std::error_code ignored;
    if (is_hidden(entry->path())) {
      entry.disable_recursion_pending();
      continue;
    }
    const std::string path = entry->path().string();
    const std::optional<MediaKind> kind = media_kind(path);
    if (!kind || entry->is_directory(ignored)) continue;
    if (entry.depth() == 0) {
      found[*kind].push_back({path, {}});
    } else if (*kind != MediaKind::kArrays) {
      found[*kind].push_back({path, entry->path().lexically_relative(folder).begin()->string()});
    }
  }
  if (problem) return fail(ErrorKind::kEnvironment, fmt::format("cannot list {}: {}", folder, problem.message()));
  return found;
}

}  // namespace

std::optional<MediaKind> media_kind(std::string_view file) {
  std::string lower(file);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Ending& ending : kEndings) {
    if (lower.ends_with(ending.text)) return ending.kind;
  }
  return std::nullopt;
}

Expected<MediaFolder> list_media(const std::string& path, std::size_t limit) {
  auto by_kind = TRY(find_files(path));
  if (by_kind.empty()) {
    std::vector<std::string_view> endings;
    for (const Ending& ending : kEndings) endings.push_back(ending.text);
    return bad_input(fmt::format("{}: no samples in this folder; expected {} files", path, fmt::join(endings, ", ")));
  }
  if (by_kind.size() > 1) {
    return bad_input(fmt::format("{}: mixed kinds of samples, such as {} and {}: keep one kind per folder", path,
                                 shown(by_kind.begin()->second.front().path),
                                 shown(by_kind.rbegin()->second.front().path)));
  }
  auto& [kind, found] = *by_kind.begin();
  std::ranges::sort(found, {}, &Found::path);
  MediaFolder result{kind, {}, {}, {}};
  for (const Found& file : found) result.classes.push_back(file.class_name);
  std::ranges::sort(result.classes);
  result.classes.erase(std::ranges::unique(result.classes).begin(), result.classes.end());
  // A file beside the folders of classes is of none of them.
  const bool has_classes = !result.classes.front().empty();
  if (!has_classes) result.classes.clear();

  const std::size_t count = std::min(found.size(), limit);
  for (std::size_t i = 0; i < count; ++i) {
    const Found& file = found[kind == MediaKind::kArrays ? i : i * found.size() / count];
    result.files.push_back(file.path);
    if (!has_classes) continue;
    const auto place = std::ranges::lower_bound(result.classes, file.class_name);
    result.labels.push_back(place - result.classes.begin());
  }
  return result;
}

}  // namespace isthmus
