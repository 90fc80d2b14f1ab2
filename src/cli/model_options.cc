// Reads what a user says about a model and its target.
#include "cli/model_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "base/cpus.h"
#include "base/untrusted_text.h"
#include "cli/usage.h"
#include "targets/registry.h"

namespace isthmus {
namespace {

constexpr std::string_view kCpuAlias = "cpu";  // what users call the one that runs on any

// "x=1,3,224,224"
Expected<std::pair<std::string, std::vector<std::int64_t>>> read_shape(const std::string& text) {
  const std::size_t equals = text.find('=');
  const auto refuse = [&] { return bad_input(fmt::format("--shape {}: expected NAME=1,3,224,224", text)); };
  if (equals == std::string::npos || equals == 0) return refuse();
  std::pair<std::string, std::vector<std::int64_t>> shape{text.substr(0, equals), {}};
  const char* at = text.data() + equals + 1;
  const char* end = text.data() + text.size();
  while (at != end) {
    std::int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 1 || (next != end && *next != ',')) return refuse();
    shape.second.push_back(size);
    at = next == end ? next : next + 1;
  }
  return shape;
}

}  // namespace

void add_model_options(CLI::App& command, ModelOptions& options) {
  command.add_option("MODEL", options.file, "a torch.export archive (.pt2) or an ONNX model (.onnx)")->required();
  command.add_option("--target", options.target, "where it is to run")->required()->transform(target_names());
  command.add_option("--shape", options.shapes, "fixes the sizes of an input: NAME=1,3,224,224")
      ->allow_extra_args(false);
  command.add_option("--batch", options.batch, "fixes the first size of every input")->check(at_least(1));
  command.add_option("--max-batch", options.max_batch, "the largest first size of the inputs")->check(at_least(1));
}

CLI::Validator target_names() {
  const auto read = [](std::string& word) -> std::string {
    if (word == kCpuAlias) word = local_float_target().name;
    if (find_target(word) != nullptr) return {};
    std::vector<std::string_view> names;
    std::vector<std::string_view> family;
    for (const TargetDesc* target : all_targets()) {
      names.push_back(target->name);
      if (fmt::format("-{}", target->name).find(fmt::format("-{}-", word)) != std::string::npos) {
        family.push_back(target->name);
      }
    }
    if (!family.empty()) return fmt::format("which {}? {}", word, fmt::join(family, ", "));
    return fmt::format("no target {}{}; `isthmus targets` lists all", shown(word), did_you_mean(word, names));
  };
  return CLI::Validator(read, "see `isthmus targets`", kTargetValidator);
}

Expected<PrepareOptions> prepare_options(const ModelOptions& options) {
  PrepareOptions result;
  result.target = find_target(options.target);
  result.shapes.batch = options.batch;
  result.shapes.max_batch = options.max_batch;
  for (const std::string& text : options.shapes) result.shapes.inputs.insert(TRY(read_shape(text)));
  return result;
}

std::size_t default_threads() { return available_cpus(); }

}  // namespace isthmus
