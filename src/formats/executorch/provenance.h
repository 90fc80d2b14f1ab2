// Where a program file comes from: what made it, of what, and how. It is a named datum, which ExecuTorch's runtime
// never asks for.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/executorch/pte.h"

namespace isthmus::pte {

// No times and no paths: the same input makes the same bytes.
struct Provenance {
  // "tool", "target", "model_sha256", ... and their values, in order; none has a line break.
  std::vector<std::pair<std::string, std::string>> facts;
  std::string config;  // what the user set of the quantization, as a quant.toml; empty where all is as usual

  bool operator==(const Provenance&) const = default;
};

NamedData named(const Provenance& provenance);
// Nothing in files of other tools.
std::optional<Provenance> find_provenance(const Program& program);

}  // namespace isthmus::pte
