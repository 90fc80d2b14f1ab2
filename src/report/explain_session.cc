// Finds the values that a word means, and words what is known of them.
#include "report/explain_session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "base/untrusted_text.h"
#include "report/compile.h"
#include "report/costs.h"
#include "report/explain.h"
#include "report/outcome.h"
#include "report/overview.h"

namespace isthmus {
namespace {

tl::unexpected<Error> unknown(const Session& session, const Outcome& outcome, const std::string& word) {
  const std::vector<std::string_view> near = names_near(outcome, word);
  return bad_input(fmt::format("{}: no node, call, line or module is called {}{}", harmless(session.file()),
                               shown(word),
                               near.empty() ? "; `isthmus check MODEL --target T --stop-after legalize` shows all names"
                                            : fmt::format("; did you mean {}?", fmt::join(near, ", "))));
}

}  // namespace

Expected<std::string> explain_costs(const Session& session, ExplainForm form) {
  const auto table = cost_table(outcome_of(session.target(), session.prepared(), session.quantized()));
  if (!table) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("no cost estimate of this model's nodes for {}", session.target().name));
  }
  return form.is_json ? to_json(*table, session.file(), session.target().name)
                      : to_text(*table, session.file(), session.target().name, form.is_verbose);
}

Expected<std::string> explain(const Session& session, const std::string& word, ExplainForm form) {
  const Outcome outcome = outcome_of(session.target(), session.prepared(), session.quantized());
  const HostCauses host(outcome);
  if (word.empty()) {
    CompileSummary summary = summarize(session);
    if (const Expected<void> runnable = session.demand_runnable(); !runnable) summary.error = runnable.error();
    const Overview overview = overview_of(std::move(summary), outcome, host);
    return form.is_json ? to_json(overview) : to_text(overview, form.is_verbose);
  }
  const std::vector<ValueId> values = find_values(outcome, word);
  if (values.empty()) return unknown(session, outcome, word);
  std::vector<ValueError> errors;
  if (values.size() == 1 && session.has_statistics()) errors = TRY(session.layer_errors());
  std::vector<Explanation> found;
  for (const ValueId value : values) found.push_back(explain(outcome, host, value, errors));
  if (found.size() > 1) return form.is_json ? to_json(found) : to_text(found);
  return form.is_json ? to_json(found[0]) : to_text(found[0]);
}

}  // namespace isthmus
