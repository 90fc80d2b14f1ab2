// Finds the value of each file.
#include "session/device_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "formats/npy.h"

namespace isthmus {
namespace {

// By the name of a file.
std::map<std::string, std::uint32_t> names_of(const anatomy::Graph& program) {
  std::map<std::string, std::uint32_t> names;
  for (const anatomy::Node& node : program.nodes) {
    for (const std::uint32_t output : node.outputs) {
      std::string name = program.values[output].name;
      std::ranges::replace(name, ' ', '_');
      std::ranges::replace(name, '/', '_');
      names.emplace(std::move(name), output);
    }
    // Of several nodes of one handle, the last has the result.
    if (node.debug_handle && !node.outputs.empty()) {
      names.insert_or_assign(std::to_string(*node.debug_handle), node.outputs[0]);
    }
  }
  return names;
}

}  // namespace

Expected<fidelity::Dump> read_device_outputs(const std::string& folder, const anatomy::Graph& program,
                                             Diagnostics& diagnostics) {
  std::error_code problem;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator entry(folder, problem);
       !problem && entry != std::filesystem::directory_iterator(); entry.increment(problem)) {
    if (entry->path().extension() == ".npy") files.push_back(entry->path());
  }
  if (problem) return bad_input(fmt::format("{}: {}", folder, problem.message()));
  std::ranges::sort(files);
  const auto names = names_of(program);
  fidelity::Dump dump(program.values.size());
  std::size_t known = 0;
  for (const auto& path : files) {
    const auto found = names.find(path.stem().string());
    if (found == names.end()) {
      diagnostics.warn("unknown-value", {}, fmt::format("{} is named after no value of the program", path.string()));
      continue;
    }
    const Blob bytes = TRY(map_file(path.string()));
    dump[found->second] = Tensor::from(TRY(within(read_npy(bytes), path.string())));
    ++known;
  }
  if (known == 0) {
    return bad_input(fmt::format("{} has no .npy file that is named after a value of the program, such as {}.npy",
                                 folder, names.empty() ? std::string("output_0") : names.begin()->first));
  }
  return dump;
}

}  // namespace isthmus
