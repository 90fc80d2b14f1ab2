// --method, --threads.
#include "cli/program_options.h"

namespace isthmus {

void add_program_options(CLI::App& command, ProgramOptions& options) {
  command.add_option("--method", options.method, "the method of a .pte file")->capture_default_str();
  command
      .add_option("--threads", options.threads,
                  "threads inside operators; default 1: on a busy machine more threads wait for each other")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

}  // namespace isthmus
