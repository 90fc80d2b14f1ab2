// Models quantized, calibrated and compiled, for tests.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/samples.h"
#include "quantize/config/config.h"
#include "session/stages.h"

namespace isthmus::test {

struct QuantizedProgram {
  Prepared prepared;
  QuantizedModel model;
  std::optional<Compiled> compiled;
  Diagnostics diagnostics;

  std::size_t delegates() const { return model.partitioning.segments.size(); }
  std::size_t host_calls() const { return model.partitioning.schedule.size() - delegates(); }
};

// The archive, or the graph, quantized with what the samples show; its program file where that is wanted.
Expected<QuantizedProgram> quantize_graph(const Graph& graph, std::vector<std::vector<Tensor>> samples,
                                          const QuantConfig& config = {}, bool with_program = true,
                                          std::string_view target = "xnnpack");
Expected<QuantizedProgram> quantize_model(const std::filesystem::path& path, std::vector<std::vector<Tensor>> samples,
                                          const QuantConfig& config = {}, bool with_program = true,
                                          std::string_view target = "xnnpack");

// A run of an archive of the operator corpus, as it was recorded; those with symbolic sizes have two.
struct RecordedRun {
  std::vector<Tensor> inputs;
  std::vector<std::optional<Tensor>> outputs;
};
Expected<std::vector<RecordedRun>> recorded_runs(const std::filesystem::path& npz);

// What the program computes.
Expected<std::vector<std::optional<Tensor>>> run_program(const QuantizedProgram& program,
                                                         const std::vector<Tensor>& inputs);

// The error of all outputs of real numbers together, in dB; infinite where there is none.
double sqnr(const std::vector<std::optional<Tensor>>& found, const std::vector<std::optional<Tensor>>& expected);

// Who shares with whom: the names of each group's members, groups and members sorted.
std::string groups_text(const QuantizedModel& model);

}  // namespace isthmus::test
