// What is in a model file, for a person and for a program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/diag.h"
#include "formats/onnx/onnx.h"
#include "formats/torch/pt2.h"
#include "frontends/model.h"
#include "report/rows.h"
#include "report/states.h"

namespace isthmus {

// All that `isthmus inspect` says about a model. Of ONNX, `schema` is the version of its IR and its opsets, and
// `torch_version` what wrote the file. Made without touching the weights' bytes.
struct ModelSummary {
  struct Tensor {
    std::string name;
    std::string dtype;
    std::vector<std::string> shape;  // "1", "3", "4*s0"
  };
  struct Group {
    std::size_t tensors = 0;
    std::uint64_t elements = 0;  // a tensor under two names counts once
    std::uint64_t bytes = 0;     // a storage that two tensors share counts once
  };
  std::string kind = "pt2";
  std::string file;
  std::uint64_t bytes = 0;
  std::string layout;
  std::string torch_version;
  std::string schema;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;  // a leaf that is not a tensor has its value as dtype and no shape
  std::vector<StateRow> states;
  Group parameters;
  Group buffers;
  Group constants;
  std::size_t nodes = 0;
  Counts ops;
  std::vector<Symbol> symbols;
  std::size_t examples = 0;
  std::vector<Diagnostic> diagnostics;
};

ModelSummary summarize(const std::string& file, const pt2::Archive& archive, const Model& model,
                       const Diagnostics& diagnostics);

ModelSummary summarize(const std::string& file, const onnx::Model& onnx, const Model& model,
                       const Diagnostics& diagnostics);

std::string to_text(const ModelSummary& summary, TextStyle style);
std::string to_json(const ModelSummary& summary);

}  // namespace isthmus
