// Text in, text out: each .ir file below this folder is a test.
//
// A file holds comments, a line "run STAGE [TARGET]", a graph, a line "----" and what comes out: the graph after the
// stage, or "error: ...". UPDATE_GOLDEN=1 rewrites the expectations; the difference is to be reviewed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/text.h"
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

Expected<std::string> after_stage(const std::string& stage, std::string_view text) {
  Graph graph = TRY(parse_graph(text));
  if (stage == "parse") return print(graph);
  const std::size_t space = stage.find(' ');
  if (space != std::string::npos) {
    const TargetDesc* target = find_target(stage.substr(space + 1));
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
