// The commands, one file each: what a command takes, and what it does.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "base/expected.h"

namespace isthmus {

using Action = std::function<Expected<void>()>;

// Each adds its command to the app and returns what runs it after parsing.
struct Command {
  CLI::App* app;
  Action action;
};

Command add_bench(CLI::App& app);
Command add_inspect(CLI::App& app);
Command add_run(CLI::App& app);
Command add_targets(CLI::App& app);

}  // namespace isthmus
