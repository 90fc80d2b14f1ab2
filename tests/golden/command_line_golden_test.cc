// Command lines in, what they print and their exit codes out: each .cli file below this folder is a test.
//
// A file holds comments, lines "run ARGUMENTS" or "sh COMMAND" (what a case needs, such as files), a line "----" and
// what comes out. $TMP is a folder of the test's own, $MODELS is tests/models. UPDATE_GOLDEN=1 rewrites the
// expectations; the difference is to be reviewed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/command_line.h"
#include "support/models.h"

namespace isthmus::command_line_golden_test {
namespace {

constexpr std::string_view kLine = "----\n";

std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::source_dir() / "tests" / "golden")) {
    if (entry.path().extension() == ".cli") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

class CommandLineGolden : public test::CommandLine, public ::testing::WithParamInterface<std::filesystem::path> {
 protected:
  std::string with_folders(std::string text) const {
    return replaced(replaced(std::move(text), "$TMP", (folder_ / "files").string()), "$MODELS", "tests/models");
  }
  std::string without_folders(std::string text) const {
    return replaced(replaced(std::move(text), (folder_ / "files").string(), "$TMP"), "tests/models", "$MODELS");
  }

  std::string output_of(const std::string& line) const {
    const bool is_shell = line.starts_with("sh ");
    const std::string arguments = with_folders(line.substr(line.find(' ') + 1));
    const test::Finished done = is_shell ? run("( " + arguments + " )") : isthmus(arguments);
    if (is_shell && done.code == 0 && done.out.empty() && done.err.empty()) return {};
    std::string text = "$ " + (is_shell ? "" : std::string("isthmus ")) + line.substr(line.find(' ') + 1) + "\n";
    text += done.out;
    std::istringstream lines(done.err);
    for (std::string row; std::getline(lines, row);) text += "stderr: " + row + "\n";
    if (done.code != 0) text += "exit " + std::to_string(done.code) + "\n";
    return without_folders(text);
  }
};

TEST_P(CommandLineGolden, ComesOutAsWritten) {
  std::filesystem::create_directory(folder_ / "files");
  std::ifstream file(GetParam());
  std::stringstream contents;
  contents << file.rdbuf();
  const std::string text = contents.str();
  const std::size_t end = text.find(kLine);
  ASSERT_NE(end, std::string::npos) << "no ---- in " << GetParam();
  std::string output;
  std::istringstream lines(text.substr(0, end));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("run ") || line.starts_with("sh ")) output += output_of(line);
  }
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(GetParam()) << text.substr(0, end) << kLine << output;
    return;
  }
  EXPECT_EQ(output, text.substr(end + kLine.size()));
}

INSTANTIATE_TEST_SUITE_P(Files, CommandLineGolden, ::testing::ValuesIn(golden_files()), [](const auto& parameter) {
  std::string name = parameter.param.parent_path().filename().string() + "_" + parameter.param.stem().string();
  std::ranges::replace_if(
      name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace isthmus::command_line_golden_test
