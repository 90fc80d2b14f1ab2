// Compiling models to programs, for tests.
#pragma once

#include <filesystem>
#include <span>

#include "program/run/method.h"
#include "session/stages.h"
#include "support/models.h"

namespace isthmus::test {

struct Program {
  Prepared prepared;
  Compiled compiled;

  std::size_t delegates() const { return prepared.partitioning.segments.size(); }
  std::size_t host_nodes() const { return prepared.partitioning.schedule.size() - delegates(); }
  Blob file() const { return {compiled.bytes, nullptr}; }
};

// In float for XNNPACK.
Expected<Program> compile_model(const std::filesystem::path& path, const ShapeRequest& shapes = {});

// A model that was quantized without data, as `isthmus check` does it.
struct Unmeasured {
  Prepared prepared;
  QuantizedModel quantized;
  Diagnostics diagnostics;
};
Unmeasured quantize_without_data(const Graph& graph, const TargetDesc& target);

// The arrays stem0.npy, stem1.npy, ... of a folder.
std::vector<Tensor> read_tensors(const std::filesystem::path& folder, const std::string& stem);

// The largest difference of any output over that output's range.
double relative_error(const std::vector<std::optional<Tensor>>& found, const std::vector<Tensor>& expected);

}  // namespace isthmus::test
