// docs/json.md lists exactly the keys that the commands print.
//
// A section "## NAME" has a table of paths: `host[].node` is the key of a row. Whatever lies below a path of type "map"
// has names of its own. Paths in other columns are keys that only seldom are there. The lines below run what makes
// every other key of a section appear.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "support/command_line.h"
#include "support/models.h"

namespace isthmus::json_docs_test {
namespace {

struct Section {
  std::set<std::string> paths;
  std::set<std::string> maps;
};

std::map<std::string, Section> documented() {
  std::ifstream file(test::source_dir() / "docs" / "json.md");
  std::map<std::string, Section> sections;
  std::string name;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) name = line.substr(3);
    if (!line.starts_with("| `")) continue;
    const std::size_t end = line.find('`', 3);
    const std::string path = line.substr(3, end - 3);
    sections[name].paths.insert(path);
    if (line.find("| map", end) != std::string::npos) sections[name].maps.insert(path);
  }
  return sections;
}

void collect(const nlohmann::json& json, const std::string& path, const Section& section,
             std::set<std::string>& found) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      const std::string below = path.empty() ? key : path + "." + key;
      found.insert(below);
      if (!section.maps.contains(below)) collect(value, below, section, found);
    }
  } else if (json.is_array()) {
    for (const nlohmann::json& row : json) collect(row, path + "[]", section, found);
  }
}

struct Lines {
  std::string section;
  std::vector<std::string> lines;
};
const Lines kAll[] = {
    {"Errors", {"compile nothing.pt2 --target xnnpack -o $TMP/x.pte", "check"}},
    {"check",
     {"check $M/fmnist/cnn.pt2 --target xnnpack --max-delegates 0 --write-baseline $TMP/a.lock",
      "check $M/state/decoder.pt2 --target ethos-u55-128 --write-baseline $TMP/b.lock",
      "check $M/probes/odd.pt2 --target xnnpack", "check $M/converted_cats.pt2 --target xnnpack"}},
    {"preprocess", {"preprocess $M/fmnist/cnn.pt2 --data $M/images --samples 2 --resize 28x28 --show $TMP/seen"}},
    {"compile",
     {"compile $M/fmnist/cnn.pt2 --target xnnpack --calibrate $M/fmnist/calib_32.npz --io int8 --promote 1 "
      "--layer-errors -o $TMP/cnn.pte",
      "compile $M/fmnist/cnn.pt2 --target ethos-u55-128 --layer-errors --calibrate $M/fmnist/calib_32.npz --emit-tosa "
      "$TMP --emit-mlir $TMP -o $TMP/npu.pte",
      "compile $M/state/decoder.pt2 --target ethos-u55-128 -o $TMP/state.pte",
      "compile $M/fmnist/cnn.pt2 --target xnnpack --max-delegates 0 -o $TMP/no.pte"}},
    {"explain",
     {"explain $M/fmnist/cnn.pt2 --target xnnpack --calibrate $M/fmnist/calib_32.npz",
      "explain $M/state/decoder.pt2 --target ethos-u55-128"}},
    {"explain NODE",
     {"explain $M/fmnist/cnn.pt2 --target xnnpack --calibrate $M/fmnist/calib_32.npz concat",
      "explain $M/state/decoder.pt2 --target ethos-u55-128 embedding",
      "explain $M/converted_cats.pt2 --target ethos-u55-128 cat",
      "explain $M/fmnist/cnn.pt2 --target ethos-u55-128 mean", "explain $M/fmnist/cnn.pt2 --target xnnpack relu"}},
    {"run", {"run $M/deit_micro.pt2 --input $M/deit_micro_input_0.npy -o $TMP/results"}},
    {"eval",
     {"eval $TMP/cnn.pte --reference $M/fmnist/cnn.pt2 --data $M/fmnist/test_500.npz --samples 4 --shard 0/2 "
      "-o $TMP/cnn.eval"}},
    {"bench", {"bench $TMP/cnn.pte --seconds 0.01 --profile"}},
    {"calibrate",
     {"calibrate $M/fmnist/cnn.pt2 --target xnnpack --calibrate $M/fmnist/calib_32.npz --samples 2 -o $TMP/a.stats",
      "calibrate $M/fmnist/cnn.pt2 --target xnnpack --calibrate $M/fmnist/calib_32.npz --samples 2 --shard 0/2 "
      "-o $TMP/a.stats",
      "calibrate $M/fmnist/cnn.pt2 --target xnnpack --calibrate $M/fmnist/calib_32.npz -o $TMP/more.stats"}},
    {"merge",
     {"merge $TMP/a.stats $TMP/a.stats -o $TMP/b.stats", "merge $TMP/cnn.0-of-2.eval --partial -o $TMP/b.eval"}},
    {"inspect",
     {"inspect $M/fmnist/cnn.pt2", "inspect $M/probes/odd.pt2", "inspect $TMP/cnn.pte", "inspect $TMP/state.pte",
      "inspect $TMP/cnn_0.tosa", "inspect $TMP/a.stats", "inspect $TMP/cnn.0-of-2.eval"}},
    {"fit", {"fit $TMP/cnn.pte --sram 1K", "fit $TMP/npu.pte --bits 32"}},
    {"diff",
     {"diff $TMP/cnn.pte $TMP/state.pte", "diff $TMP/a.stats $TMP/more.stats", "diff $TMP/a.lock $TMP/b.lock",
      "diff $M/fmnist/cnn.pt2 $M/fmnist/vit.pt2"}},
    {"sweep", {"sweep $TMP/plan.toml --seconds 0.01"}},
    {"targets", {"targets", "targets ethos-u55-128", "targets --ops"}},
};

// One point of each kind: with milliseconds, with cycles, with an error.
const std::string kPlan = R"(targets = ["xnnpack", "ethos-u55-128"]
[[model]]
file = "$M/fmnist/cnn.pt2"
test = "$M/fmnist/test_500.npz"
[[configuration]]
name = "int8"
[[configuration]]
name = "wrong"
options = "--batch 0"
targets = ["xnnpack"]
)";

class JsonDocs : public test::CommandLine {
 protected:
  std::string with_folders(std::string text) const {
    for (const auto& [from, to] :
         {std::pair<std::string, std::string>("$TMP", folder_.string()), {"$M", "tests/models"}}) {
      for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from)) {
        text.replace(at, from.size(), to);
      }
    }
    return text;
  }
};

TEST_F(JsonDocs, ListExactlyTheKeysThatArePrinted) {
  const std::map<std::string, Section> sections = documented();
  std::ofstream(folder_ / "plan.toml") << with_folders(kPlan);
  for (const Lines& row : kAll) {
    ASSERT_TRUE(sections.contains(row.section)) << row.section;
    const Section& section = sections.at(row.section);
    std::set<std::string> printed;
    for (const std::string& line : row.lines) {
      const std::string out = isthmus(with_folders(line) + " --json").out;
      const auto json = nlohmann::json::parse(out, nullptr, false);
      ASSERT_TRUE(json.is_object()) << line << "\n" << out;
      collect(json, "", section, printed);
    }
    std::erase_if(printed, [](const std::string& path) { return path.starts_with("vela"); });  // where it is at hand
    for (const std::string& path : printed) EXPECT_TRUE(section.paths.contains(path)) << row.section << ": " << path;
    for (const std::string& path : section.paths) {
      EXPECT_TRUE(printed.contains(path)) << row.section << ": " << path << " is documented, and nothing prints it";
    }
  }
}

}  // namespace
}  // namespace isthmus::json_docs_test
