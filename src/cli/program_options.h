// The options of commands that run a program.
#pragma once

#include <CLI/CLI.hpp>

#include "session/program.h"

namespace isthmus {

// --method, --threads.
void add_program_options(CLI::App& command, ProgramOptions& options);

}  // namespace isthmus
