// Parts of the page's data, and the texts from which the page is put together.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/layer_errors.h"
#include "program/anatomy/anatomy.h"
#include "report/causes.h"
#include "report/costs.h"
#include "report/json_parts.h"
#include "report/outcome.h"
#include "session/promote.h"
#include "stats/statistics.h"

namespace isthmus::page {

// All that is known of a model, by name or node.
struct Known {
  const Outcome& outcome;
  const HostCauses& host;
  const Statistics* statistics = nullptr;  // null: no samples were seen
  std::map<ValueId, const ValueError*> errors = {};
  std::map<std::string, const NodeGain*> gains = {};
  std::map<std::string, const CostTable::Row*> costs = {};
};

// Segments, inputs, outputs, and all nodes that run with what is known of each.
Json graph_part(const Known& known);
// The same of a program file: what is in it, and nothing of why.
Json program_part(const anatomy::Graph& program);
// Groups that share parameters, and ties that were cut.
Json groups_part(const Known& known);
// What is alive while each node runs, and the tensors of the peak.
Json memory_part(const Outcome& outcome);

// With the five digits that a page shows.
double brief(double number);
// How often numbers of each size occurred, in few bins; null where nothing was seen.
Json histogram_json(const ValueStatistics& statistics);
Json quant_json(const TensorType& type);
// Of the largest sizes that a value can have; nothing where there is no bound.
std::optional<std::uint64_t> bytes_of(const Graph& graph, ValueId id);

// The page's sources as they were at build time.
extern const std::string_view kTemplate;
extern const std::string_view kStyle;
extern const std::string_view kScript;
extern const std::string_view kDagre;         // the layout library
extern const std::string_view kDagreLicence;  // its notice

}  // namespace isthmus::page
