// isthmus explain
#include <memory>

#include "cli/commands.h"
#include "cli/contradictions.h"
#include "cli/session_options.h"
#include "cli/terminal.h"
#include "report/explain_session.h"

namespace isthmus {
namespace {

struct ExplainOptions {
  SessionFlags session;
  std::string node;
  CommonFlags common;
};

Expected<ExitCode> explain_model(const ExplainOptions& options) {
  if (const auto mistake = contradiction_of(options.session)) return usage_error(*mistake, options.common);
  Session session = TRY(open_session(options.session));
  TRY(session.place(options.session.data.is_empty() ? WithData::kNo : WithData::kYes));
  const std::string words = TRY(explain(session, options.node, {options.common.wants_json, options.common.is_verbose}));
  if (options.common.speaks()) print_diagnostics(session.diagnostics());
  print_output(words);
  TRY(session.demand_runnable());
  return kExitFine;
}

}  // namespace

Command add_explain(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "explain", "Where a node runs and in which precision, who shares its scale, and the chain of reasons.");
  const auto options = std::make_shared<ExplainOptions>();
  add_session_options(*command, options->session);
  command->add_option("NODE", options->node,
                      "a value or node by its name, or all of an op, a call, a line of the source or a module; a part "
                      "of a name will do; without it, an overview");
  add_calibration_options(*command, options->session, "no numbers: no parameters, no bits lost, no rescales");
  add_common_flags(*command, options->common, "all groups, not only the largest");
  command->get_option("--quiet")->description("print no warnings");
  command->footer(
      "Examples:\n  isthmus explain model.pt2 --target xnnpack\n"
      "  isthmus explain model.pt2 --target xnnpack concat\n"
      "  isthmus explain model.pt2 --target xnnpack networks.py:251\n"
      "  isthmus explain model.pt2 --target xnnpack --calibrate calib.npz blocks.0.attn");
  return {command, [options] { return explain_model(*options); }};
}

}  // namespace isthmus
