// isthmus explain
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "base/untrusted_text.h"
#include "cli/commands.h"
#include "session/session.h"
#include "cli/terminal.h"
#include "report/explain.h"
#include "report/overview.h"

namespace isthmus {
namespace {

struct ExplainOptions {
  JourneyOptions journey;
  std::string node;
  bool wants_json = false;
  bool is_quiet = false;
  bool is_verbose = false;
};

tl::unexpected<Error> unknown(const ExplainOptions& options, const Outcome& outcome) {
  const std::vector<std::string_view> near = names_near(outcome, options.node);
  return bad_input(fmt::format("{}: no node, call, line or module is called {}{}", harmless(options.journey.model.file),
                               shown(options.node),
                               near.empty() ? "; `isthmus check MODEL --target T --to legalize` shows all names"
                                            : fmt::format("; did you mean {}?", fmt::join(near, ", "))));
}

Expected<std::string> words_about_node(const ExplainOptions& options, const Journey& journey, const Outcome& outcome,
                                       const HostCauses& host) {
  const std::vector<ValueId> values = find_values(outcome, options.node);
  if (values.empty()) return unknown(options, outcome);
  std::vector<ValueError> errors;
  if (values.size() == 1 && journey.statistics) errors = TRY(errors_of(options.journey, journey));
  std::vector<Explanation> found;
  for (const ValueId value : values) found.push_back(explain(outcome, host, value, errors));
  if (found.size() > 1) return options.wants_json ? to_json(found) : to_text(found);
  return options.wants_json ? to_json(found[0]) : to_text(found[0]);
}

Expected<void> explain_model(const ExplainOptions& options) {
  Journey journey = TRY(start(options.journey));
  TRY(travel(options.journey, !options.journey.samples.data.empty(), journey));
  const Outcome outcome = outcome_of(journey.target(), *journey.prepared, journey.codes());
  const HostCauses host(outcome);
  std::string words;
  if (options.node.empty()) {
    const Overview overview = overview_of(summary_of(options.journey, journey), outcome, host);
    words = options.wants_json ? to_json(overview) : to_text(overview, options.is_verbose);
  } else {
    words = TRY(words_about_node(options, journey, outcome, host));
  }
  if (!options.wants_json && !options.is_quiet) print_diagnostics(journey.diagnostics);
  fmt::print("{}", words);
  return demand_runnable(options.journey, journey);
}

}  // namespace

Command add_explain(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "explain", "Where a node runs and in which precision, who shares its scale, and the chain of reasons.");
  const auto options = std::make_shared<ExplainOptions>();
  add_journey_options(*command, options->journey);
  command->add_option("NODE", options->node,
                      "a value or node by its name, or all of an op, a call, a line of the source or a module; a part "
                      "of a name will do; without it, an overview");
  add_data_options(*command, options->journey, "no numbers: no parameters, no bits lost, no rescales");
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
