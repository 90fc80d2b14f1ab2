// Reads what a user says about a model and its target.
#include "cli/model_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <limits>

#include "base/cpus.h"
#include "base/untrusted_text.h"
#include "cli/usage.h"
#include "targets/registry.h"

namespace isthmus {
namespace {

constexpr std::string_view kCpuAlias = "cpu";  // what users call the one that runs on any

// "x=1,3,224,224": a name and numbers of at least `min`.
template <class Number>
Expected<std::pair<std::string, std::vector<Number>>> read_numbers(const std::string& text, Number min,
                                                                   std::string_view expected) {
  const std::size_t equals = text.find('=');
  const auto refuse = [&] { return bad_input(fmt::format("{}, got {}", expected, text)); };
  if (equals == std::string::npos || equals == 0) return refuse();
  std::pair<std::string, std::vector<Number>> result{text.substr(0, equals), {}};
  const char* at = text.data() + equals + 1;
  const char* end = text.data() + text.size();
  while (at != end) {
    Number number{};
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || !(number >= min) || (next != end && *next != ',')) return refuse();
    result.second.push_back(number);
    at = next == end ? next : next + 1;
  }
  return result;
}

}  // namespace

void add_model_options(CLI::App& command, ModelOptions& options) {
  command.add_option("MODEL", options.file, "a torch.export archive (.pt2) or an ONNX model (.onnx)")->required();
  command.add_option("--target", options.target, "the device to compile for")->required()->transform(target_names());
  command.add_option("--shape", options.shapes, "fix the shape of an input: NAME=1,3,224,224")->allow_extra_args(false);
  command.add_option("--batch", options.batch, "fix the batch size (first dimension) of all inputs")
      ->check(at_least(1));
  command.add_option("--max-batch", options.max_batch, "the largest batch size (first dimension) of the inputs")
      ->check(at_least(1));
  add_constant_option(command, options.constants);
}

void add_constant_option(CLI::App& command, std::vector<std::string>& constants) {
  command
      .add_option("--constant", constants,
                  "make an input of an ONNX model a constant, such as a sample rate: NAME=16000, or numbers separated "
                  "by commas; everything that depends only on it is folded, branches included")
      ->allow_extra_args(false);
}

Expected<std::map<std::string, std::vector<double>>> read_constants(const std::vector<std::string>& texts) {
  std::map<std::string, std::vector<double>> result;
  for (const std::string& text : texts) {
    result.insert(TRY(read_numbers(text, std::numeric_limits<double>::lowest(), "--constant: expected NAME=16000")));
  }
  return result;
}

Expected<InputRequest> input_request(const ModelOptions& options) {
  InputRequest result;
  result.shapes = TRY(prepare_options(options)).shapes;
  result.constants = TRY(read_constants(options.constants));
  return result;
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
    return fmt::format("no target {}{}", shown(word), did_you_mean(word, names, "`isthmus targets` lists all"));
  };
  return CLI::Validator(read, "see `isthmus targets`", kTargetValidator);
}

Expected<PrepareOptions> prepare_options(const ModelOptions& options) {
  PrepareOptions result;
  result.target = find_target(options.target);
  result.shapes.batch = options.batch;
  result.shapes.max_batch = options.max_batch;
  for (const std::string& text : options.shapes) {
    result.shapes.inputs.insert(TRY(read_numbers<std::int64_t>(text, 1, "--shape: expected NAME=1,3,224,224")));
  }
  return result;
}

std::size_t default_threads() { return available_cpus(); }

}  // namespace isthmus
