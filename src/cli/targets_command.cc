// isthmus targets
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "report/op_table.h"

namespace isthmus {

Command add_targets(CLI::App& app) {
  CLI::App* command = app.add_subcommand("targets", "The operators that Isthmus knows, and every name they go by.");
  const auto wants_json = std::make_shared<bool>(false);
  const auto wants_ops = std::make_shared<bool>(false);
  command->add_flag("--ops", *wants_ops, "print the op table: ops, what they do to numbers, names")->required();
  command->add_flag("--json", *wants_json, "one JSON object on standard output");
  command->footer("Example:\n  isthmus targets --ops");
  return {command, [wants_json]() -> Expected<ExitCode> {
            fmt::print("{}", *wants_json ? op_table_json() : op_table_text());
            return kExitFine;
          }};
}

}  // namespace isthmus
