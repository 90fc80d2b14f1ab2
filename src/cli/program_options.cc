// --method, --threads.
#include "cli/program_options.h"

namespace isthmus {

void add_program_options(CLI::App& command, ProgramOptions& options) {
  command.add_option("--method", options.method, "the method of a .pte file")->capture_default_str();
  command
      .add_option(
          "--threads", options.threads,
          "inside operators; by default one, since threads wait for each other where other programs use the CPUs")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

}  // namespace isthmus
