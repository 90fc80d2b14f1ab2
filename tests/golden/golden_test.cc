// Text in, text out: each .ir file below this folder is a test.
//
// A file holds comments, a line "run STAGE [TARGET]", a graph, a line "----" and what comes out: the graph after the
// stage, or "error: ...". After "run quantize TARGET", lines "range %x MIN MAX" say what calibration sees of the
// inputs; the groups and cuts of the plan follow the graph. UPDATE_GOLDEN=1 rewrites the expectations; review the
// difference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "calibrate/samples.h"
#include "ir/text.h"
#include "session/calibrate.h"
#include "session/prepare.h"
#include "session/quantize.h"
#include "support/models.h"
#include "targets/legalize.h"
#include "targets/partition.h"
#include "targets/registry.h"
#include "targets/target.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus::golden_test {
namespace {

constexpr std::string_view kLine = "----\n";

std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::source_dir() / "tests" / "golden")) {
    if (entry.path().extension() == ".ir") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

// The graph after legalize; after partition with the place of each node and the reasons of those on the host.
Expected<std::string> on_target(const std::string& stage, const TargetDesc& target, Graph graph) {
  const Graph legal = TRY(legalize(std::move(graph), target));
  if (stage == "legalize") return print(legal);
  const Partitioning places = partition(legal, target);
  TextOptions options;
  options.notes = notes_of(places, target.name);
  std::string result = print(legal, options);
  for (std::size_t i = 0; i < places.place.size(); ++i) {
    const auto* reason = std::get_if<Reason>(&places.place[i]);
    if (reason != nullptr) result += legal[legal.nodes()[i].outputs[0]].name + ": " + text_of(*reason) + "\n";
  }
  return result;
}

using Ranges = std::map<std::string, std::pair<double, double>>;

// One sample: the elements of each input climb evenly through its range.
std::vector<Tensor> sample_of(const Graph& graph, const Ranges& ranges) {
  std::vector<Tensor> sample;
  for (const ValueId id : graph.inputs()) {
    std::vector<std::int64_t> sizes;
    for (const Dim dim : graph.type(id).shape) sizes.push_back(dim.value());
    Tensor tensor(DType::kF32, sizes);
    const auto numbers = tensor.mutable_data<float>();
    const auto found = ranges.find(graph[id].name);
    const auto [min, max] = found == ranges.end() ? std::pair(-1.0, 1.0) : found->second;
    const double step = numbers.size() < 2 ? 0 : (max - min) / static_cast<double>(numbers.size() - 1);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<float>(min + step * static_cast<double>(i));
    sample.push_back(std::move(tensor));
  }
  return sample;
}

std::string names_of(const Graph& graph, const Group& group) {
  std::string names;
  for (const Member& member : group.members) names += (names.empty() ? "%" : " %") + graph[member.value].name;
  return names;
}

// The quantized graph, and the groups of several values and the cuts that made it.
Expected<std::string> quantized_text(const TargetDesc& target, const Graph& graph, const Ranges& ranges) {
  Diagnostics diagnostics;
  const Prepared prepared = TRY(prepare(graph, {&target, {}}, diagnostics));
  const auto samples = given_samples({sample_of(prepared.graph, ranges)});
  const Statistics statistics =
      TRY(calibrate(prepared, *samples, xnnpack::ThreadPool(1), {}, diagnostics, FloatKernels::kReference));
  // Small graphs would stay in float or take 16 bits, because that costs them next to nothing.
  QuantConfig config;
  config.widen = 0;
  config.front = 0;
  const QuantizedModel model = TRY(quantize(prepared, target, &statistics, config, diagnostics));
  TextOptions options;
  options.notes = notes_of(model.partitioning, target.name);
  std::string result = print(model.quantized.graph, options);
  for (const Group& group : model.plan.groups) {
    if (group.members.size() > 1) result += "group: " + names_of(model.model, group) + "\n";
  }
  for (const Cut& cut : model.plan.cuts) {
    const Node& reader = model.model[cut.tie.node];
    result += "cut: %" + model.model[reader.inputs[cut.tie.input]].name + " at %" +
              model.model[reader.outputs[0]].name + ": " + cut.because + "\n";
  }
  return result;
}

// Takes the lines "range %x MIN MAX" off the front of the text.
Expected<Ranges> take_ranges(std::string_view& text) {
  Ranges ranges;
  while (text.starts_with("range %")) {
    const std::size_t end = text.find('\n');
    std::istringstream line(std::string(text.substr(7, end - 7)));
    std::string name;
    double min = 0;
    double max = 0;
    if (!(line >> name >> min >> max)) return bad_input("expected 'range %x MIN MAX'");
    ranges[name] = {min, max};
    text.remove_prefix(end + 1);
  }
  return ranges;
}

Expected<std::string> after_stage(const std::string& stage, std::string_view text) {
  const Ranges ranges = TRY(take_ranges(text));
  Graph graph = TRY(parse_graph(text));
  if (stage == "parse") return print(graph);
  const std::size_t space = stage.find(' ');
  if (space != std::string::npos) {
    const TargetDesc* target = find_target(stage.substr(space + 1));
    if (target != nullptr && stage.starts_with("quantize ")) return quantized_text(*target, graph, ranges);
    if (target != nullptr) return on_target(stage.substr(0, space), *target, std::move(graph));
  }
  if (stage != "canonicalize") return bad_input("unknown stage '" + stage + "'");
  Diagnostics diagnostics;
  std::string result = print(TRY(canonicalize(graph, diagnostics)));
  for (const Diagnostic& entry : diagnostics.entries()) result += entry.code + ": " + entry.text + "\n";
  return result;
}

class Golden : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Golden, ComesOutAsWritten) {
  std::ifstream file(GetParam());
  std::stringstream contents;
  contents << file.rdbuf();
  const std::string text = contents.str();
  const std::size_t line = text.find(kLine);
  ASSERT_NE(line, std::string::npos) << "no ---- in " << GetParam();
  const std::size_t run = text.find("run ");
  ASSERT_LT(run, line) << "no 'run STAGE' in " << GetParam();
  const std::size_t graph_start = text.find('\n', run) + 1;
  const std::string stage = text.substr(run + 4, graph_start - run - 5);
  const auto found = after_stage(stage, std::string_view(text).substr(graph_start, line - graph_start));
  const std::string output = found ? *found : "error: " + found.error().text() + "\n";
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(GetParam()) << text.substr(0, line) << kLine << output;
    return;
  }
  EXPECT_EQ(output, text.substr(line + kLine.size()));
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, ::testing::ValuesIn(golden_files()), [](const auto& parameter) {
  std::string name = parameter.param.parent_path().filename().string() + "_" + parameter.param.stem().string();
  std::ranges::replace_if(
      name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace isthmus::golden_test
