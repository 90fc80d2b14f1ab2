// The commands, one file each: what a command takes, and what it does.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "base/expected.h"
#include "cli/app.h"
#include "cli/common_flags.h"

namespace isthmus {

// The exit code.
using Action = std::function<Expected<ExitCode>()>;

// A mistake of the command line that the parser cannot see.
ExitCode usage_error(const std::string& message, const CommonFlags& flags);

// For commands that either do their work or fail.
inline Expected<ExitCode> fine(Expected<void> done) {
  if (!done) return tl::unexpected<Error>(std::move(done).error());
  return kExitFine;
}

// Each adds its command to the app and returns what runs it after parsing.
struct Command {
  CLI::App* app;
  Action action;
};

Command add_bench(CLI::App& app);
Command add_calibrate(CLI::App& app);
Command add_check(CLI::App& app);
Command add_compile(CLI::App& app);
Command add_diff(CLI::App& app);
Command add_eval(CLI::App& app);
Command add_explain(CLI::App& app);
Command add_fit(CLI::App& app);
Command add_inspect(CLI::App& app);
Command add_merge(CLI::App& app);
Command add_preprocess(CLI::App& app);
Command add_run(CLI::App& app);
Command add_sweep(CLI::App& app);
Command add_targets(CLI::App& app);
Command add_verify(CLI::App& app);

}  // namespace isthmus
