// ONNX's own backend tests, where Debian's libonnx-testdata is installed: every model on its recorded
// inputs, in the interpreter and as a float program. What became of each is held against tests/models/onnx/backend.txt;
// UPDATE_GOLDEN=1 writes it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>

#include "formats/onnx/onnx.h"
#include "frontends/onnx/load.h"
#include "interpret/interpreter.h"
#include "program/run/method.h"
#include "session/compile.h"
#include "session/prepare.h"
#include "support/models.h"
#include "targets/registry.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus::test::onnx_backend_test {
namespace {

namespace fs = std::filesystem;

const fs::path kData = "/usr/share/libonnx-testdata/data";

Expected<std::vector<onnx::Tensor>> recorded(const fs::path& folder, const std::string& prefix) {
  std::vector<onnx::Tensor> tensors;
  for (std::size_t i = 0;; ++i) {
    const fs::path file = folder / (prefix + std::to_string(i) + ".pb");
    if (!fs::exists(file)) return tensors;
    tensors.push_back(TRY(onnx::read_tensor(TRY(map_file(file.string())))));
    if (!tensors.back().data) return tl::unexpected<Error>(tensors.back().data.error());
  }
}

// The model with some of its inputs bound to their recorded data, as real models have it.
Expected<Graph> bound(onnx::Model model, const std::vector<onnx::Tensor>& inputs, const std::vector<bool>& is_bound) {
  for (std::size_t i = 0; i < inputs.size() && i < model.graph.inputs.size(); ++i) {
    if (!is_bound[i]) continue;
    onnx::Tensor constant = inputs[i];
    constant.name = model.graph.inputs[i].name;
    model.graph.initializers.push_back(std::move(constant));
  }
  Diagnostics diagnostics;
  const Model loaded = TRY(load(model, diagnostics));
  Graph graph = TRY(canonicalize(loaded.graph, diagnostics));
  if (foreign_ops(graph).empty()) return graph;
  for (const Diagnostic& entry : diagnostics.entries()) {
    if (entry.code == "foreign-op") return fail(ErrorKind::kUnsupported, entry.text);
  }
  return fail(ErrorKind::kUnsupported, "no op of the table has the name " + foreign_ops(graph).front());
}

std::string compared(const std::vector<std::optional<Tensor>>& found, const std::vector<onnx::Tensor>& expected) {
  if (found.size() != expected.size()) return "another number of outputs";
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Tensor wanted = Tensor::from(*expected[i].data);
    if (!found[i]) return "an output that is not a tensor";
    if (found[i]->sizes() != wanted.sizes()) return "another shape";
    if (found[i]->dtype() != wanted.dtype()) return "another element type";
    const std::vector<double> a = doubles(*found[i]);
    const std::vector<double> b = doubles(wanted);
    const bool is_half = size_of(wanted.dtype()) == 2;
    for (std::size_t k = 0; k < a.size(); ++k) {
      if (std::isnan(a[k]) && std::isnan(b[k])) continue;
      if (a[k] == b[k]) continue;
      const double allowed = 1e-7 + (is_half ? 2e-3 : 1e-3) * std::abs(b[k]);
      if (!(std::abs(a[k] - b[k]) <= allowed)) return "other numbers";
    }
  }
  return "agrees";
}

std::string first_line(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  // The reason without the node that it is about.
  if (const std::size_t colon = line.find(" stays foreign: "); colon != std::string::npos)
    line = line.substr(colon + 16);
  return line;
}

Expected<std::string> as_program(const Graph& graph, std::span<const Tensor> inputs,
                                 const std::vector<onnx::Tensor>& outputs) {
  const TargetDesc* target = find_target("xnnpack");
  Diagnostics diagnostics;
  Prepared prepared = TRY(prepare(graph, {target, {}}, diagnostics));
  TRY(keep_in_float(prepared, *target));
  const std::vector<std::optional<TensorView>> examples(graph.inputs().size());
  const Compiled compiled = TRY(compile(prepared, *target, examples, nullptr));
  const Blob file(compiled.bytes, nullptr);
  run::Method method = TRY(run::Method::load(file));
  const auto found = TRY(method.run(inputs));
  return compared(found, outputs);
}

struct Outcome {
  std::string interpreter;
  std::string program;
};

Outcome outcome_of(const fs::path& folder) {
  const auto file = map_file((folder / "model.onnx").string());
  if (!file) return {file.error().text(), "-"};
  const auto model = onnx::read_model(*file, onnx::files_in(folder.string()));
  if (!model) return {first_line(model.error().text()), "-"};
  const fs::path data = folder / "test_data_set_0";
  const auto inputs = recorded(data, "input_");
  const auto outputs = recorded(data, "output_");
  if (!inputs) return {"inputs: " + first_line(inputs.error().text()), "-"};
  if (!outputs) return {"outputs: " + first_line(outputs.error().text()), "-"};
  // As few bound inputs as will do: none, all but the first, all.
  const std::size_t count = inputs->size();
  std::vector<std::vector<bool>> choices{std::vector<bool>(count, false)};
  if (count > 1) {
    choices.push_back(std::vector<bool>(count, true));
    choices.back()[0] = false;
  }
  choices.push_back(std::vector<bool>(count, true));
  std::string why;
  for (const std::vector<bool>& choice : choices) {
    auto graph = bound(*model, *inputs, choice);
    if (!graph) {
      if (why.empty() || graph.error().kind != ErrorKind::kUnsupported) why = first_line(graph.error().text());
      continue;
    }
    std::vector<Tensor> given;
    for (std::size_t i = 0; i < count; ++i) {
      if (!choice[i]) given.push_back(Tensor::from(*(*inputs)[i].data));
    }
    const auto results = interpret(*graph, given);
    if (!results) return {first_line(results.error().text()), "-"};
    Outcome outcome{compared(*results, *outputs), "-"};
    if (given.empty()) return outcome;
    const auto program = as_program(*graph, given, *outputs);
    outcome.program = program ? *program : first_line(program.error().text());
    return outcome;
  }
  return {why, "-"};
}

TEST(OnnxBackend, EveryModelDoesAsItIsWrittenDown) {
  if (!fs::exists(kData)) GTEST_SKIP() << "no " << kData << ": ./dev test onnx installs it";
  std::map<std::string, Outcome> outcomes;
  for (const char* set : {"node", "pytorch-converted", "pytorch-operator", "simple"}) {
    for (const auto& entry : fs::directory_iterator(kData / set)) {
      const std::string name = std::string(set) + "/" + entry.path().filename().string();
      if (const char* only = std::getenv("ONNX_ONLY"); only != nullptr && name.find(only) == std::string::npos)
        continue;
      outcomes[name] = outcome_of(entry.path());
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
