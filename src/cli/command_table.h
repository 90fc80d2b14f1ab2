// All commands with their options: the command line runs one of them, and manual pages and completions list them.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "cli/commands.h"

namespace isthmus {

struct CommandTable {
  std::unique_ptr<CLI::App> app;
  std::vector<Command> commands;
};
CommandTable make_command_table();

}  // namespace isthmus
