// isthmus explain
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/session_options.h"
#include "cli/terminal.h"
#include "report/explain_session.h"

namespace isthmus {
namespace {

struct ExplainOptions {
  SessionFlags session;
  std::string node;
  bool wants_json = false;
  bool is_quiet = false;
  bool is_verbose = false;
};

Expected<void> explain_model(const ExplainOptions& options) {
  Session session = TRY(open_session(options.session));
  TRY(session.place(options.session.data.is_empty() ? WithData::kNo : WithData::kYes));
  const std::string words = TRY(explain(session, options.node, {options.wants_json, options.is_verbose}));
  if (!options.wants_json && !options.is_quiet) print_diagnostics(session.diagnostics());
  fmt::print("{}", words);
  return session.demand_runnable();
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
  command->add_flag("--json", options->wants_json, "one JSON object on standard output");
  command->add_flag("-q,--quiet", options->is_quiet, "no warnings");
  command->add_flag("-v,--verbose", options->is_verbose, "all groups, not only the largest");
  command->footer(
      "Examples:\n  isthmus explain model.pt2 --target xnnpack\n"
      "  isthmus explain model.pt2 --target xnnpack concat\n"
      "  isthmus explain model.pt2 --target xnnpack networks.py:251\n"
      "  isthmus explain model.pt2 --target xnnpack --calibrate calib.npz blocks.0.attn");
  return {command, [options] { return fine(explain_model(*options)); }};
}

}  // namespace isthmus
