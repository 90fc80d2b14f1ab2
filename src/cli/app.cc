// The table of commands.
#include "cli/app.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "cli/commands.h"
#include "cli/terminal.h"

namespace isthmus {

int run_command_line(int argc, const char* const* argv) {
  CLI::App app(
      "Isthmus reads models that torch.export wrote (.pt2) and programs for edge devices (.pte), shows what is in them "
      "and runs them.",
      "isthmus");
  app.set_version_flag("--version", fmt::format("isthmus {}", ISTHMUS_VERSION));
  app.require_subcommand(1);
  app.footer(
      "Examples:\n  isthmus inspect model.pt2\n  isthmus run model.pte --input image.npy -o out\n  isthmus bench "
      "model.pte\n\nisthmus COMMAND "
      "--help says more about a command.");
  const std::vector<Command> commands{add_check(app),   add_compile(app), add_explain(app), add_calibrate(app),
                                      add_merge(app),   add_run(app),     add_eval(app),    add_bench(app),
                                      add_inspect(app), add_targets(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool is_answer = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    app.exit(error);
    return is_answer ? kExitFine : kExitUsage;
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    const Expected<ExitCode> code = command.action();
    if (code) return *code;
    print_error(code.error());
    return kExitFailed;
  }
  return kExitFine;
}

}  // namespace isthmus
