#include "session/labels.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/untrusted_text.h"
#include "calibrate/media_folder.h"
#include "formats/npz.h"
#include "interpret/tensor.h"

namespace isthmus {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
constexpr std::string_view kBlanks = " \t\r";

struct LabelLine {
  std::string_view file;  // empty where the line is a class alone
  std::int64_t label = 0;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

Expected<LabelLine> read_line(std::string_view line) {
  const std::size_t gap = line.find_last_of(", \t");
  LabelLine result;
  if (gap != std::string_view::npos) result.file = trimmed(line.substr(0, line.find_last_not_of(", \t", gap) + 1));
  const std::string_view number = gap == std::string_view::npos ? line : line.substr(gap + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), result.label);
  if (error != std::errc() || end != number.data() + number.size()) {
    return bad_input(
        fmt::format("expected a class such as 7, or a file and its class such as a.png,7; got {}", shown(line)));
  }
  return result;
}

Expected<std::vector<LabelLine>> read_lines(std::string_view text) {
  std::vector<LabelLine> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const auto place = [&] { return fmt::format("line {}", number); };
    lines.push_back(TRY(within(read_line(line), place)));
    if (lines.back().file.empty() != lines.front().file.empty()) {
      return within(Expected<std::vector<LabelLine>>(bad_input("either all lines name a file, or none does")), place);
    }
  }
  if (lines.empty()) return bad_input("no class in this file");
  return lines;
}

// The files of a folder that are read, and all that it has.
struct Listed {
  std::vector<std::string> read, all;
};

Expected<std::vector<std::int64_t>> match_lines(const std::vector<LabelLine>& lines, const DataOptions& options,
                                                const std::optional<Listed>& listed) {
  std::vector<std::int64_t> labels;
  if (!listed) {
    if (!lines.front().file.empty()) return bad_input("lines name files, but the samples are not files in a folder");
    for (const LabelLine& line : lines) labels.push_back(line.label);
    return labels;
  }
  const auto normal = [](const std::filesystem::path& file) { return file.lexically_normal().string(); };
  std::map<std::string, std::int64_t> by_file;
  if (lines.front().file.empty()) {
    if (lines.size() != listed->all.size()) {
      return bad_input(fmt::format("{} classes for {} files of {}", lines.size(), listed->all.size(), options.path));
    }
    for (std::size_t i = 0; i < lines.size(); ++i) by_file.emplace(normal(listed->all[i]), lines[i].label);
  } else {
    for (const LabelLine& line : lines) {
      by_file.emplace(normal(std::filesystem::path(options.path) / line.file), line.label);
    }
  }
  for (const std::string& file : listed->read) {
    const auto found = by_file.find(normal(file));
    if (found == by_file.end()) return bad_input(fmt::format("no class for {}", file));
    labels.push_back(found->second);
  }
  return labels;
}

Expected<std::vector<std::int64_t>> labels_of_npz(const NpzArray& array, Npz& npz) {
  const Tensor data = Tensor::from(TRY(npz.read(array)));
  if (!is_integer(data.dtype()) || data.rank() != 1) return bad_input("expected one integer for each sample");
  std::vector<std::int64_t> labels;
  dispatch(data.dtype(), [&]<class Number>(Number) {
    for (const Number label : data.data<Number>()) labels.push_back(static_cast<std::int64_t>(label));
  });
  return labels;
}

}  // namespace

Expected<std::vector<std::int64_t>> labels_of(const DataOptions& options, Diagnostics& diagnostics) {
  const std::string& path = options.path;
  const bool is_folder = !path.empty() && std::filesystem::is_directory(path);
  std::optional<MediaFolder> folder;
  if (is_folder) folder = TRY(list_media(path, options.max_samples.value_or(kAll)));
  if (!options.labels_file.empty()) {
    const Blob file = TRY(map_file(options.labels_file));
    std::optional<Listed> listed;
    if (folder) listed = Listed{folder->files, TRY(list_media(path, kAll)).files};
    const auto place = [&] { return options.labels_file; };
    return within(match_lines(TRY(within(read_lines(file.text()), place)), options, listed), place);
  }
  if (path.empty()) return options.labels;
  const auto without = [&](std::string_view why) {
    diagnostics.note("no-labels", "", fmt::format("{} {}: top-1 is not computed", path, why));
    return std::vector<std::int64_t>{};
  };
  if (folder) {
    if (folder->classes.empty()) return without("has no subfolders that name classes, and --labels is missing");
    return folder->labels;
  }
  if (!path.ends_with(".npz")) return without("has no classes, and --labels is missing");
  Npz npz = TRY(within(Npz::open(TRY(map_file(path))), path));
  const NpzArray* array = npz.find("labels");
  if (array == nullptr) return without("has no array \"labels\"");
  return within(labels_of_npz(*array, npz), [&] { return fmt::format("array \"labels\" of {}", path); });
}

}  // namespace isthmus
