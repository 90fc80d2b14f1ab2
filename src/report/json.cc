// Every JSON object that the command line prints.
#include <charconv>
#include <nlohmann/json.hpp>

#include "ops/table.h"
#include "report/inspect.h"
#include "report/op_table.h"
#include "report/run.h"

namespace isthmus {
namespace {

using Json = nlohmann::ordered_json;

// Names come from untrusted files: bytes that are no UTF-8 are replaced, never a reason to fail.
std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

// ["1", "3", "4*s0"] as [1, 3, "4*s0"].
Json shape_json(const std::vector<std::string>& shape) {
  Json result = Json::array();
  for (const std::string& dim : shape) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(dim.data(), dim.data() + dim.size(), number);
    const bool is_number = error == std::errc() && end == dim.data() + dim.size();
    result.push_back(is_number ? Json(number) : Json(dim));
  }
  return result;
}

}  // namespace

std::string to_json(const ModelSummary& summary) {
  const auto tensors = [](const std::vector<ModelSummary::Tensor>& rows) {
    Json list = Json::array();
    for (const ModelSummary::Tensor& row : rows) {
      if (row.name.empty()) {
        list.push_back({{"value", row.dtype}});
      } else {
        list.push_back({{"name", row.name}, {"dtype", row.dtype}, {"shape", shape_json(row.shape)}});
      }
    }
    return list;
  };
  Json symbols = Json::array();
  for (const Symbol& symbol : summary.symbols) {
    const auto number = [](const std::optional<std::int64_t>& n) { return n ? Json(*n) : Json(nullptr); };
    symbols.push_back({{"name", symbol.name},
                       {"min", number(symbol.min)},
                       {"max", number(symbol.max)},
                       {"hint", number(symbol.hint)}});
  }
  Json ops = Json::object();
  for (const auto& [name, count] : summary.ops) ops[name] = count;
  Json warnings = Json::array();
  for (const Diagnostic& entry : summary.diagnostics) {
    if (entry.severity == Severity::kWarning) {
      warnings.push_back({{"code", entry.code}, {"node", entry.node}, {"text", entry.text}});
    }
  }
  return dump({{"kind", "pt2"},
               {"file", summary.file},
               {"bytes", summary.bytes},
               {"layout", summary.layout},
               {"torch_version", summary.torch_version},
               {"schema_version", summary.schema},
               {"inputs", tensors(summary.inputs)},
               {"outputs", tensors(summary.outputs)},
               {"parameters", summary.parameters.elements},
               {"parameter_tensors", summary.parameters.tensors},
               {"parameter_bytes", summary.parameters.bytes},
               {"buffers", summary.buffers.elements},
               {"buffer_tensors", summary.buffers.tensors},
               {"buffer_bytes", summary.buffers.bytes},
               {"constants", summary.constants.elements},
               {"constant_tensors", summary.constants.tensors},
               {"constant_bytes", summary.constants.bytes},
               {"symbols", std::move(symbols)},
               {"nodes", summary.nodes},
               {"ops", std::move(ops)},
               {"examples", summary.examples},
               {"warnings", std::move(warnings)}});
}

std::string to_json(const RunSummary& summary) {
  Json outputs = Json::array();
  for (const RunSummary::Written& output : summary.outputs) {
    outputs.push_back({{"name", output.name}, {"shape", output.shape}, {"dtype", output.dtype}, {"file", output.file}});
  }
  return dump({{"outputs", std::move(outputs)},
               {"delegate_calls", summary.delegate_calls},
               {"host_calls", summary.host_calls}});
}

std::string op_table_json() {
  const auto names = [](std::span<const Spelling> spellings) {
    Json list = Json::array();
    for (const Spelling& spelling : spellings) list.push_back(spelling.name);
    return list;
  };
  Json ops = Json::array();
  Json compounds = Json::array();
  for (const Family& family : families()) {
    for (const OpDef& row : family.ops) {
      ops.push_back({{"op", name_of(row.op)},
                     {"family", family.name},
                     {"flow", name_of(row.flow)},
                     {"spellings", names(row.spellings)}});
    }
    for (const Spelling& compound : family.compounds) {
      compounds.push_back({{"spelling", compound.name}, {"family", family.name}});
    }
  }
  return dump({{"ops", std::move(ops)}, {"compounds", std::move(compounds)}});
}

}  // namespace isthmus
