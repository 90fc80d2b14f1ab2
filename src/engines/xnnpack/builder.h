// From a delegate's graph to a live runtime of the local library.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/expected.h"
#include "engines/xnnpack/runtime.h"
#include "formats/executorch/xnn_blob.h"

struct pthreadpool;

namespace isthmus::xnnpack {

// The program's named data.
using NamedDataLookup = std::function<std::optional<Blob>(const std::string& key)>;

struct BuildOptions {
  pthreadpool* threads = nullptr;                              // the caller's; null: the calling thread alone
  std::uint64_t max_bytes = kMaxRunBytes;                      // of all values of one run
  std::function<std::string(const xnn::Node&)> describe = {};  // where a node comes from, for messages; may be empty
  bool with_profile = false;                                   // the library notes when each operator ends
};

// What the library would refuse or abort at is an error that names the node. The graph may come from a hostile file.
Expected<Runtime> build(const xnn::Graph& graph, const NamedDataLookup& named_data, const BuildOptions& options = {});

}  // namespace isthmus::xnnpack
