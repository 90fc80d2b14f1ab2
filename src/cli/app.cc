// The table of commands.
#include "cli/app.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "cli/commands.h"
#include "cli/terminal.h"

namespace isthmus {

int run_command_line(int argc, const char* const* argv) {
  CLI::App app("Isthmus reads torch.export archives (.pt2).", "isthmus");
  app.set_version_flag("--version", fmt::format("isthmus {}", ISTHMUS_VERSION));
  app.require_subcommand(1);
  app.footer("Example:\n  isthmus inspect model.pt2");
  const std::vector<Command> commands{add_inspect(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool is_answer = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    app.exit(error);
    return is_answer ? kExitFine : kExitUsage;
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    const Expected<void> done = command.action();
    if (!done) {
      print_error(done.error());
      return kExitFailed;
    }
  }
  return kExitFine;
}

}  // namespace isthmus
