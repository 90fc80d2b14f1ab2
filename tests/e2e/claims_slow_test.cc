// The tables of the README and of docs/results.md, row by row: what they say of bundled models is compiled and
// measured.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "support/command_line.h"
#include "support/models.h"

namespace isthmus::claims_slow_test {
namespace {

using Json = nlohmann::json;

// CPUs with other vectors sum floats in another order, so ranges and figures differ a little.
constexpr double kToleranceDb = 0.5;
constexpr double kToleranceBytes = 1.005;

struct Model {
  std::string archive, samples;  // below tests/models
};
const std::map<std::string, Model>& bundled() {
  static const std::map<std::string, Model> models{
      {"emg_cascade", {"emg_cascade.pt2", "emg_cascade_calib.npz"}},
      {"convnext_ensemble", {"convnext_ensemble.pt2", "images_48_calib.npz"}},
      {"deit_micro", {"deit_micro.pt2", "images_48_calib.npz"}},
      {"fmnist_cnn", {"fmnist/cnn.pt2", "fmnist/calib_32.npz"}},
      {"fmnist_vit", {"fmnist/vit.pt2", "fmnist/calib_32.npz"}},
      {"fmnist_convnext", {"fmnist/convnext.pt2", "fmnist/calib_32.npz"}},
      {"resnet_small", {"resnet_small.pt2", "resnet_small_calib.npz"}},
  };
  return models;
}

std::vector<std::string> parts(std::string_view text, std::string_view separator) {
  std::vector<std::string> result;
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    std::string part(text.substr(at, end - at));
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    result.push_back(part);
    if (end == text.size()) return result;
    at = end + separator.size();
  }
}

// The rows of the table whose header begins so, as cells.
std::vector<std::vector<std::string>> table(const std::string& page, std::string_view header) {
  std::ifstream text(test::source_dir() / page);
  std::vector<std::vector<std::string>> rows;
  bool is_inside = false;
  for (std::string line; std::getline(text, line);) {
    if (is_inside && !line.starts_with("|")) break;
    if (is_inside && !line.starts_with("|---")) rows.push_back(parts(line.substr(1, line.size() - 2), "|"));
    is_inside = is_inside || line.starts_with(header);
  }
  return rows;
}

// "59.2 / 37.9"
std::vector<double> decibels(const std::string& text) {
  std::vector<double> result;
  for (const std::string& part : parts(text, "/")) result.push_back(std::stod(part));
  return result;
}

std::uintmax_t number(std::string text) {
  std::erase(text, ',');
  return std::stoull(text);
}

class Claims : public test::CommandLine {
 protected:
  // Compiled with all samples of calibration, from which the printed line comes.
  Json compiled(const Model& model, const std::string& options) const {
    const test::Finished done =
        isthmus(fmt::format("compile tests/models/{} --calibrate tests/models/{} --threads 1 --json {} -o {}",
                            model.archive, model.samples, options, (folder_ / "m.pte").string()));
    EXPECT_EQ(done.code, 0) << done.err;
    return Json::parse(done.out);
  }
  // Pooled over these samples, by output.
  std::vector<double> measured(const Model& model) const {
    const test::Finished done = isthmus(fmt::format("eval {} --reference tests/models/{} --data tests/models/{} --json",
                                                    (folder_ / "m.pte").string(), model.archive, model.samples));
    EXPECT_EQ(done.code, 0) << done.err;
    return Json::parse(done.out)["sqnr_db"].get<std::vector<double>>();
  }
  void expect_decibels(const Model& model, const std::vector<double>& said, const std::string& what) const {
    const std::vector<double> found = measured(model);
    ASSERT_EQ(found.size(), said.size()) << what;
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_GE(found[i], said[i] - kToleranceDb) << what;
  }
  void expect_row(const std::string& name, const std::string& said) const {
    const Model& model = bundled().at(name);
    const Json made = compiled(model, "--target xnnpack");
    // "1, 0, 59.2 / 37.9, 43,804"
    const std::vector<std::string> figures = parts(said, ", ");
    ASSERT_EQ(figures.size(), 4U) << said;
    EXPECT_EQ(made["delegates"], std::stoi(figures[0])) << name;
    EXPECT_EQ(made["host"].size(), std::stoul(figures[1])) << name;
    expect_decibels(model, decibels(figures[2]), name);
    EXPECT_LE(made["bytes"].get<double>(), kToleranceBytes * static_cast<double>(number(figures[3]))) << name;
  }
};

// "$ isthmus check model.pt2 ..." and below it what is printed.
TEST_F(Claims, TheReadmeShowsWhatIsPrinted) {
  std::ifstream text(test::source_dir() / "README.md");
  const std::string model = "tests/models/fmnist/cnn.pt2";
  constexpr std::string_view kPrompt = "$ isthmus ";
  std::string printed, shown;
  std::size_t commands = 0;
  for (std::string line; std::getline(text, line);) {
    const bool is_command = line.starts_with(kPrompt);
    if (is_command || line.starts_with("```")) {
      EXPECT_EQ(printed, shown);
      printed = shown = "";
    }
    if (is_command) {
      ++commands;
      std::string arguments = line.substr(kPrompt.size());
      arguments.replace(arguments.find("model.pt2"), 9, model);
      printed = isthmus(arguments).out;
      if (const auto at = printed.find(model); at != std::string::npos) printed.replace(at, model.size(), "model.pt2");
    } else if (commands > 0 && !printed.empty()) {
      shown += line + "\n";
    }
  }
  EXPECT_EQ(commands, 2U);
}

TEST_F(Claims, EachRowOfTheReadmeHolds) {
  const auto rows = table("README.md", "| model | ExecuTorch: delegates");
  EXPECT_EQ(rows.size(), bundled().size());
  for (const auto& row : rows) {
    ASSERT_TRUE(bundled().contains(row[0])) << "the README promises what a clone cannot test: " << row[0];
    expect_row(row[0], row[2]);
  }
}

TEST_F(Claims, ResultsSayWhatTheReadmeSays) {
  const auto results = table("docs/results.md", "| model | ExecuTorch: delegates");
  for (const auto& row : table("README.md", "| model | ExecuTorch: delegates")) {
    EXPECT_NE(std::ranges::find(results, row), results.end()) << row[0];
  }
}

TEST_F(Claims, EachRowOfNpuResultsHolds) {
  std::size_t tested = 0;
  for (const auto& row : table("docs/results.md", "| model | ExecuTorch, int8 |")) {
    const auto model = bundled().find(row[0]);
    if (model == bundled().end()) continue;
    ++tested;
    const std::vector<std::string> said = parts(row[2], ", ");  // "60.7 / 40.0, 60.1 / 41.4"
    ASSERT_EQ(said.size(), 2U) << row[2];
    const std::vector<double> others = decibels(row[1]);
    for (std::size_t i = 0; i < said.size(); ++i) {
      const std::string target = i == 0 ? "ethos-u85-256" : "ethos-u55-128";
      const Json made = compiled(model->second, "--target " + target);
      EXPECT_EQ(made["delegates"], 1) << row[0] << " " << target;
      EXPECT_TRUE(made["host"].empty()) << row[0] << " " << target;
      const std::vector<double> promised = decibels(said[i]);
      expect_decibels(model->second, promised, row[0] + " " + target);
      for (std::size_t output = 0; output < promised.size(); ++output) EXPECT_GT(promised[output], others[output]);
    }
  }
  EXPECT_EQ(tested, bundled().size());
}

}  // namespace
}  // namespace isthmus::claims_slow_test
