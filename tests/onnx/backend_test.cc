// ONNX's own backend tests, where Debian's libonnx-testdata is installed: every model on its recorded
// inputs, in the interpreter and as a float program. What became of each is held against tests/models/onnx/backend.txt;
// UPDATE_GOLDEN=1 writes it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "support/models.h"
#include "support/onnx_backend.h"

namespace isthmus::test::onnx_backend_test {
namespace {

namespace fs = std::filesystem;

const fs::path kData = "/usr/share/libonnx-testdata/data";

TEST(OnnxBackend, EveryModelDoesAsItIsWrittenDown) {
  if (!fs::exists(kData)) GTEST_SKIP() << "no " << kData << ": ./dev test onnx installs it";
  std::map<std::string, OnnxOutcome> outcomes;
  for (const char* set : {"node", "pytorch-converted", "pytorch-operator", "simple"}) {
    for (const auto& entry : fs::directory_iterator(kData / set)) {
      const std::string name = std::string(set) + "/" + entry.path().filename().string();
      if (const char* only = std::getenv("ONNX_ONLY"); only != nullptr && name.find(only) == std::string::npos)
        continue;
      outcomes[name] = onnx_outcome(entry.path());
    }
  }
  const fs::path expectation = source_dir() / "tests" / "models" / "onnx" / "backend.txt";
  if (const char* update = std::getenv("UPDATE_GOLDEN"); update != nullptr && std::string(update) == "1") {
    fs::create_directories(expectation.parent_path());
    std::ofstream out(expectation);
    out << "# What becomes of ONNX's backend tests (libonnx-testdata 1.12): name | interpreter | float program on "
           "XNNPACK\n";
    for (const auto& [name, outcome] : outcomes)
      out << name << " | " << outcome.interpreter << " | " << outcome.program << "\n";
    return;
  }
  std::map<std::string, std::string> expected;
  std::ifstream in(expectation);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t bar = line.find(" | ");
    if (bar != std::string::npos) expected[line.substr(0, bar)] = line.substr(bar + 3);
  }
  for (const auto& [name, outcome] : outcomes) {
    const auto row = expected.find(name);
    if (row == expected.end()) continue;  // of another version of the package
    EXPECT_EQ(outcome.interpreter + " | " + outcome.program, row->second) << name;
  }
}

}  // namespace
}  // namespace isthmus::test::onnx_backend_test
