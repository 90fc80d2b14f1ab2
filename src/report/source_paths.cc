// Looks for the files of a model's stack traces.
#include "report/source_paths.h"

#include "frontends/torch/origin.h"

namespace isthmus {
namespace {

// "/home/me/project/src/networks.py" is "src/networks.py" in a checkout of the project.
std::string found_below(const std::filesystem::path& root, const std::filesystem::path& path) {
  std::error_code ignored;
  for (auto first = path.begin(); first != path.end(); ++first) {
    if (first->is_absolute()) continue;
    std::filesystem::path end;
    for (auto part = first; part != path.end(); ++part) {
      if (*part == "..") return path.string();  // nothing outside of the root
      end /= *part;
    }
    if (std::filesystem::is_regular_file(root / end, ignored)) return end.string();
  }
  return path.string();
}

}  // namespace

SourcePaths source_paths(const OpenModel& model, const std::filesystem::path& root) {
  std::map<std::string, std::string> by_path;  // files are looked for once
  SourcePaths result;
  for (const pt2::Node& node : model.archive.program.nodes) {
    const SourceLine line = source_line_of(node.metadata);
    if (line.path.empty()) continue;
    const auto [known, is_new] = by_path.try_emplace(line.path);
    if (is_new) known->second = found_below(root, line.path);
    result.emplace(line.text(), known->second);
  }
  return result;
}

}  // namespace isthmus
