// The report as one HTML page that needs no network.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "evaluate/layer_errors.h"
#include "report/compile.h"
#include "report/eval.h"
#include "report/sweep.h"
#include "report/verdict.h"
#include "session/session.h"

namespace isthmus {

// What the page shows, as the one object that is embedded in it: after `place`, and more after `compile`. `errors` are
// those of every value, or empty. It opens at the first node that `word` means, as for `explain`, or at the top.
nlohmann::ordered_json page_data(const CompileSummary& summary, const Session& session,
                                 const std::vector<ValueError>& errors, const std::string& word = {});
// Of a comparison.
nlohmann::ordered_json page_data(const EvalSummary& summary);

// Of a sweep.
nlohmann::ordered_json page_data(const SweepSummary& summary);

// The bytes of the file: the same for the same data. Names in the data may be anything: no text of theirs becomes
// markup or script.
std::string to_page(const nlohmann::ordered_json& data);
// Both. Where there are ranges and no `errors`, these are measured.
std::string page_of(const CompileSummary& summary, const Session& session, std::vector<ValueError> errors = {},
                    const std::string& word = {});
std::string page_of(const EvalSummary& summary);
std::string page_of(const SweepSummary& summary);

}  // namespace isthmus
