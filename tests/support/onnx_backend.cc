// Runs a folder of ONNX's backend tests in the interpreter and as a float program.
#include "support/onnx_backend.h"

#include <algorithm>
#include <cmath>

#include "formats/onnx/onnx.h"
#include "frontends/onnx/load.h"
#include "interpret/interpreter.h"
#include "program/run/method.h"
#include "session/compile.h"
#include "session/prepare.h"
#include "targets/registry.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus::test {
namespace {

namespace fs = std::filesystem;

// Files of bfloat16 are recorded as the integers of its bits.
void take_declared_type(onnx::Tensor& tensor, const onnx::Type& declared) {
  constexpr std::int64_t kBfloat16 = 16;
  if (tensor.data->dtype == DType::kU16 && declared.element == kBfloat16) tensor.data->dtype = DType::kBF16;
}

Expected<std::vector<onnx::Tensor>> recorded(const fs::path& folder, const std::string& prefix,
                                             const std::vector<onnx::ValueInfo>& declared) {
  std::vector<onnx::Tensor> tensors;
  for (std::size_t i = 0;; ++i) {
    const fs::path file = folder / (prefix + std::to_string(i) + ".pb");
    if (!fs::exists(file)) return tensors;
    tensors.push_back(TRY(onnx::read_tensor(TRY(map_file(file.string())))));
    if (!tensors.back().data) return tl::unexpected<Error>(tensors.back().data.error());
    if (i < declared.size()) take_declared_type(tensors.back(), declared[i].type);
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
    // Numbers of bfloat16 were cut when they were recorded, not rounded.
    const double relative = wanted.dtype() == DType::kBF16 ? 8e-3 : size_of(wanted.dtype()) == 2 ? 2e-3 : 1e-3;
    for (std::size_t k = 0; k < a.size(); ++k) {
      if (std::isnan(a[k]) && std::isnan(b[k])) continue;
      if (a[k] == b[k]) continue;
      const double allowed = 1e-7 + relative * std::abs(b[k]);
      if (!(std::abs(a[k] - b[k]) <= allowed)) return "other numbers";
    }
  }
  return "agrees";
}

std::string first_line(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  // The reason without the node that it is about.
  constexpr std::string_view kBefore = " is not supported: ";
  if (const std::size_t start = line.find(kBefore); start != std::string::npos)
    line = line.substr(start + kBefore.size());
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

}  // namespace

OnnxOutcome onnx_outcome(const fs::path& folder) {
  const auto file = map_file((folder / "model.onnx").string());
  if (!file) return {file.error().text(), "-"};
  const auto model = onnx::read_model(*file, onnx::files_in(folder.string()));
  if (!model) return {first_line(model.error().text()), "-"};
  const fs::path data = folder / "test_data_set_0";
  const auto inputs = recorded(data, "input_", model->graph.inputs);
  const auto outputs = recorded(data, "output_", model->graph.outputs);
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
    if (!results) {  // some tests declare other shapes than they record
      why = first_line(results.error().text());
      continue;
    }
    OnnxOutcome outcome{compared(*results, *outputs), "-"};
    if (given.empty()) return outcome;
    const auto program = as_program(*graph, given, *outputs);
    outcome.program = program ? *program : first_line(program.error().text());
    return outcome;
  }
  return {why, "-"};
}

}  // namespace isthmus::test
