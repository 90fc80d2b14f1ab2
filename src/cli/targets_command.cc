// isthmus targets
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/common_flags.h"
#include "cli/model_options.h"
#include "cli/terminal.h"
#include "report/op_table.h"
#include "report/target_table.h"
#include "targets/registry.h"

namespace isthmus {
namespace {

struct TargetsOptions {
  std::string target;
  bool wants_ops = false;
  CommonFlags common;
};

std::string answer(const TargetsOptions& options) {
  if (options.wants_ops) return options.common.wants_json ? op_table_json() : op_table_text();
  if (options.target.empty()) return options.common.wants_json ? targets_json() : targets_text();
  const TargetDesc& target = *find_target(options.target);
  return options.common.wants_json ? target_json(target) : target_text(target);
}

}  // namespace

Command add_targets(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("targets", "Lists the targets, the operators that a target supports, and all operators.");
  const auto options = std::make_shared<TargetsOptions>();
  CLI::Option* target =
      command->add_option("TARGET", options->target, "show one target: its operators, its rewrites, its limits")
          ->transform(target_names().description(""));
  command->add_flag("--ops", options->wants_ops, "show the op table: ops, their traits and their names")
      ->excludes(target);
  add_common_flags(*command, options->common);
  command->footer("Examples:\n  isthmus targets\n  isthmus targets xnnpack\n  isthmus targets --ops");
  return {command, [options]() -> Expected<ExitCode> {
            if (options->common.wants_json || options->common.speaks()) print_output(answer(*options));
            return kExitFine;
          }};
}

}  // namespace isthmus
