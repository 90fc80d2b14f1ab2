// What `check` and `compile` found, for people and for machines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diag.h"
#include "ir/graph.h"
#include "pipeline.h"

namespace isthmus {

struct CompileSummary {
  struct HostNode {
    std::string node, op, code, reason, origin, module, hint;
  };
  struct Transpose {
    std::string value;
    std::string from, to;  // axes in the order of memory
    std::uint64_t bytes = 0;
  };
  // What a compile adds.
  struct File {
    std::string path;
    std::uint64_t bytes = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t least_memory_bytes = 0;
    std::size_t device_nodes = 0;
    std::vector<Transpose> transposes;
    std::uint64_t peak_rss_bytes = 0;
  };

  std::string model;
  std::string target;
  std::size_t nodes = 0;
  std::size_t delegates = 0;
  std::size_t delegated_nodes = 0;
  std::vector<HostNode> host;
  std::vector<Diagnostic> warnings;
  std::vector<StageTime> times;
  std::optional<File> file;
};

CompileSummary summarize(const std::string& model, const BackendDesc& backend, const Prepared& prepared,
                         const Diagnostics& diagnostics);
void add_file(CompileSummary& summary, const std::string& path, const Prepared& prepared, const Compiled& compiled);

std::string to_text(const CompileSummary& summary, bool is_verbose);
std::string to_json(const CompileSummary& summary);

}  // namespace isthmus
