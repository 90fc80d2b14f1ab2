// isthmus explain
#include <fmt/format.h>

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
  bool wants_cycles = false;
  CommonFlags common;
};

Expected<ExitCode> explain_model(const ExplainOptions& options) {
  if (const auto mistake = contradiction_of(options.session)) return usage_error(*mistake, options.common);
  if (options.wants_cycles && options.session.is_float) {
    return usage_error(
        "--cycles and --float exclude each other: targets with a cycle estimate compute only in integers",
        options.common);
  }
  Session session = TRY(open_session(options.session));
  if (options.wants_cycles && session.target().estimate_nodes == nullptr) {
    return usage_error(
        fmt::format("--cycles: there is no cycle estimate for {}, only for Ethos-U targets", session.target().name),
        options.common);
  }
  const bool needs_data = options.wants_cycles || !options.session.data.is_empty();
  TRY(session.place(needs_data ? WithData::kYes : WithData::kNo));
  const ExplainForm form{options.common.wants_json, options.common.is_verbose};
  const std::string words =
      TRY(options.wants_cycles ? explain_costs(session, form) : explain(session, options.node, form));
  if (options.common.speaks()) print_diagnostics(session.diagnostics());
  if (options.common.wants_json || options.common.speaks()) print_output(words);
  TRY(session.demand_runnable());
  return kExitFine;
}

}  // namespace

Command add_explain(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "explain", "Explains where a node runs, in which precision, which values share its scale, and why.");
  const auto options = std::make_shared<ExplainOptions>();
  add_session_options(*command, options->session);
  add_session_limits(*command, options->session);
  command->add_option("NODE", options->node,
                      "the name of a node or value, an op, a call, a source line or a module; parts of names match; "
                      "default: an overview");
  command->add_flag("--cycles", options->wants_cycles,
                    "print the estimated cycles and memory of each node on an NPU, without vela; without --calibrate "
                    "from the example inputs");
  add_calibration_options(*command, options->session, "no parameters, no lost bits and no requantize nodes are shown");
  add_common_flags(*command, options->common, "print all groups, not only the largest");
  command->footer(
      "Examples:\n  isthmus explain model.pt2 --target xnnpack\n"
      "  isthmus explain model.pt2 --target xnnpack concat\n"
      "  isthmus explain model.pt2 --target xnnpack networks.py:251\n"
      "  isthmus explain model.pt2 --target xnnpack --calibrate calib.npz blocks.0.attn\n"
      "  isthmus explain model.pt2 --target ethos-u85-256 --calibrate calib.npz --cycles");
  return {command, [options] { return explain_model(*options); }};
}

}  // namespace isthmus
