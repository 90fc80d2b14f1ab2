// The options of commands that take a model through the stages: check, compile, explain, calibrate.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"
#include "cli/limits.h"
#include "cli/model_options.h"
#include "cli/quant_options.h"
#include "session/session.h"

namespace isthmus {

// Of large tensors that stay in memory while a model goes through the stages.
inline constexpr std::uint64_t kResidentBytes = std::uint64_t{256} << 20;

struct SessionFlags {
  ModelOptions model;
  DataOptions data;
  QuantOptions quant;
  std::size_t threads = default_threads();
  bool is_float = false;
  std::vector<std::string> input_layouts;
  FinishSettings finish;  // of the steps of all targets
  LimitOptions limits{.max_memory = 0, .timeout = 0};
};

// The model, how to quantize it, --float.
void add_session_options(CLI::App& command, SessionFlags& flags);
// --calibrate, --samples, --sequence, --reproducible, --threads. `without` says what happens without data.
void add_calibration_options(CLI::App& command, SessionFlags& flags, const std::string& without);
// --samples, --sequence
void add_sample_options(CLI::App& command, DataOptions& data);

// --input-layout and the options of finishing steps: what the program file is to be.
void add_program_file_options(CLI::App& command, SessionFlags& flags);

// --max-memory, --timeout: none by default.
void add_session_limits(CLI::App& command, SessionFlags& flags);

Expected<SessionOptions> session_options(const SessionFlags& flags);
// Opens the model. Progress is shown on the terminal, and Ctrl-C cancels.
Expected<Session> open_session(const SessionFlags& flags);

}  // namespace isthmus
