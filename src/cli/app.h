// The command line: parses it, runs one command, returns the exit code.
#pragma once

namespace isthmus {

enum ExitCode : int {
  kExitFine = 0,
  kExitFailed = 1,  // bad input or a failed run
  kExitUsage = 2,   // wrong usage
  kExitGate = 3,    // a gate was not met
};

int run_command_line(int argc, const char* const* argv);

}  // namespace isthmus
