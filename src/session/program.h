// Loads a program file or a TOSA graph to run it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/expected.h"
#include "engines/xnnpack/thread_pool.h"
#include "program/run/method.h"
#include "program/run/tosa_graph.h"
#include "session/open_model.h"

namespace isthmus {

struct ProgramOptions {
  std::string method = "forward";
  std::size_t threads = 1;
  bool with_profile = false;
  bool shows_values = false;
  std::optional<std::uint64_t> max_bytes = {};  // that it may take; without it, what the machine has
};

struct LoadedProgram {
  xnnpack::ThreadPool pool;
  run::Method method;
  std::size_t threads;
  std::uint64_t max_bytes;  // that its memory and its inputs may take
};

// Errors name the file.
Expected<LoadedProgram> load_program(const OpenFile& file, const ProgramOptions& options);

struct LoadedTosa {
  xnnpack::ThreadPool pool;
  run::TosaGraph graph;
  std::size_t threads;
};
Expected<LoadedTosa> load_tosa(const OpenFile& file, const ProgramOptions& options);

}  // namespace isthmus
