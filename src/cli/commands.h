// One class per command: what it takes, and what it does.
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

Command add_inspect(CLI::App& app);

}  // namespace isthmus
