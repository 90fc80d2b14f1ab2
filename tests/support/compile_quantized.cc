// The way from an archive to a quantized program.
#include "support/compile_quantized.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "evaluate/evaluate.h"
#include "program/run/method.h"
#include "support/models.h"
#include "targets/registry.h"

namespace isthmus::test {

Expected<QuantizedProgram> quantize_graph(const Graph& graph, std::vector<std::vector<Tensor>> samples,
                                          const QuantConfig& config, bool with_program, std::string_view target_name) {
  const TargetDesc& target = *find_target(target_name);
  Diagnostics diagnostics;
  QuantizedProgram result{TRY(prepare(graph, {&target, {}}, diagnostics)), {}, {}, {}};
  std::vector<std::optional<TensorView>> examples;
  for (const Tensor& input : samples.at(0)) examples.emplace_back(input.view());
  const auto given = given_samples(std::move(samples));
  const xnnpack::ThreadPool threads(1);
  const Statistics statistics = TRY(calibrate(result.prepared, *given, threads, {}, diagnostics));
  result.model = TRY(quantize(result.prepared, target, &statistics, config, diagnostics));
  if (with_program) {
    result.compiled = TRY(compile(result.model.quantized.graph, result.model.partitioning, target, examples, nullptr));
  }
  result.diagnostics = std::move(diagnostics);
  return result;
}

Expected<QuantizedProgram> quantize_model(const std::filesystem::path& path, std::vector<std::vector<Tensor>> samples,
                                          const QuantConfig& config, bool with_program, std::string_view target) {
  Diagnostics diagnostics;
  const Model model = TRY(open(path, diagnostics));
  return quantize_graph(model.graph, std::move(samples), config, with_program, target);
}

Expected<std::vector<RecordedRun>> recorded_runs(const std::filesystem::path& path) {
  const Blob bytes = TRY(map_file(path.string()));
  Npz npz = TRY(Npz::open(bytes));
  const bool has_pairs = npz.find("input_0_a") != nullptr;
  std::vector<RecordedRun> runs;
  for (const std::string& suffix : has_pairs ? std::vector<std::string>{"_a", "_b"} : std::vector<std::string>{""}) {
    RecordedRun& run = runs.emplace_back();
    for (const auto& input : arrays(npz, "input_", suffix)) run.inputs.push_back(input.value());
    run.outputs = arrays(npz, "output_", suffix);
  }
  return runs;
}

Expected<std::vector<std::optional<Tensor>>> run_program(const QuantizedProgram& program,
                                                         const std::vector<Tensor>& inputs) {
  run::Method method = TRY(run::Method::load(Blob(program.compiled->bytes, nullptr)));
  return method.run(inputs);
}

double sqnr(const std::vector<std::optional<Tensor>>& found, const std::vector<std::optional<Tensor>>& expected) {
  SignalToNoise error;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!expected[i] || expected[i]->dtype() != DType::kF32) continue;
    error.add(expected[i]->data<float>(), found.at(i)->data<float>());
  }
  return error.db();
}

std::string groups_text(const QuantizedModel& model) {
  std::multiset<std::string> groups;
  for (const Group& group : model.plan.groups) {
    std::multiset<std::string> members;
    for (const Member& member : group.members) members.insert(model.model[member.value].name);
    groups.insert(fmt::format("{}", fmt::join(members, " ")));
  }
  return fmt::format("{}\n", fmt::join(groups, "\n"));
}

}  // namespace isthmus::test
