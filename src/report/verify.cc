// A verdict, and a row for each step.
#include "report/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/counts.h"
#include "base/portable_math.h"
#include "base/untrusted_text.h"
#include "ir/literals.h"
#include "report/json_parts.h"

namespace isthmus {
namespace {

using fidelity::Departure;
using fidelity::Step;

constexpr std::size_t kMaxRows = 10;

class Describer {
 public:
  explicit Describer(const VerifySummary& summary)
      : program_(summary.verified.program), model_(summary.verified.model) {}

  // "conv2d, node 3 of delegate 0"; on the host a node is an instruction.
  std::string node(std::uint32_t index) const {
    const anatomy::Node& node = program_.nodes[index];
    return node.delegate ? fmt::format("{}, node {} of delegate {}", harmless(node.op), node.number, *node.delegate)
                         : fmt::format("{}, instruction {} on the host", harmless(node.op), node.number);
  }
  std::string counterpart(ValueId id) const { return "%" + model_[id].name; }
  std::string origin(ValueId id) const {
    const Node* node = model_.producer(id);
    return node == nullptr ? std::string() : origin_suffix(node->origin);
  }

 private:
  const anatomy::Graph& program_;
  const Graph& model_;
};

double rounding_db(const Step& step) {
  if (!step.own || step.own->signal == 0) return kExactDb;
  return step.rounding == 0 ? kExactDb : 10 * portable::log10(step.own->signal / step.rounding);
}

std::string before_and_after(const Step& step) {
  return step.before_db ? fmt::format("{} -> {} dB", db_number(*step.before_db), db_number(step.total.db()))
                        : fmt::format("{} dB", db_number(step.total.db()));
}

std::string step_row(const VerifySummary& summary, const Step& step) {
  const Describer describe(summary);
  std::string text = fmt::format("{:<16}  ", before_and_after(step));
  text += step.own ? fmt::format("itself {:>5}  ", db_number(step.own->db())) : std::string(14, ' ');
  return text + fmt::format("{}{}: {}", describe.counterpart(step.model), describe.origin(step.model),
                            describe.node(step.node));
}

Json step_json(const VerifySummary& summary, const Step& step) {
  const anatomy::Graph& program = summary.verified.program;
  const Graph& model = summary.verified.model;
  const anatomy::Node& node = program.nodes[step.node];
  Json json{{"value", program.values[step.value].name},
            {"op", node.op},
            {"place", anatomy::place_of(node)},
            {"number", node.number}};
  if (node.debug_handle) json["debug_handle"] = *node.debug_handle;
  json["model_value"] = model[step.model].name;
  if (const Node* maker = model.producer(step.model); maker != nullptr) {
    json["origin"] = maker->origin.source;
    json["module"] = maker->origin.module;
  }
  json["sqnr_db"] = finite_db(step.total.db());
  if (step.before_db) json["before_db"] = finite_db(*step.before_db);
  if (step.own) {
    json["own_db"] = finite_db(step.own->db());
    json["rounding_db"] = finite_db(rounding_db(step));
  }
  return json;
}

}  // namespace

std::string verdict_of(const VerifySummary& summary) {
  const auto& found = summary.verified.found;
  if (!found.departure) return fmt::format("{} departs nowhere from {}", summary.file, summary.reference);
  const Describer describe(summary);
  const Departure& departure = *found.departure;
  std::string text =
      fmt::format("{} departs from {} at {}", summary.file, summary.reference, describe.node(departure.node));
  if (departure.moves_elements) text += ", which moves elements to other places than the model";
  if (departure.counterpart) {
    text += fmt::format(", for {}{}", describe.counterpart(*departure.counterpart),
                        describe.origin(*departure.counterpart));
  }
  return text;
}

std::string to_text(const VerifySummary& summary, TextStyle style, bool is_verbose) {
  const auto& found = summary.verified.found;
  const Describer describe(summary);
  std::string head = verdict_of(summary) + "\n";
  Rows rows(style);
  if (found.departure) {
    const Step& step = found.departure->own ? *found.departure->own : found.steps[found.departure->step];
    if (step.own) {
      rows.add("its error", fmt::format("{} dB are left of {}; rounding explains {}", db_number(step.own->db()),
                                        describe.counterpart(step.model), db_text(rounding_db(step))));
    }
    if (found.departure->between.size() > 1) {
      std::vector<std::string> nodes;
      for (const std::uint32_t node : found.departure->between) {
        if (nodes.size() < kMaxRows) nodes.push_back(describe.node(node));
      }
      rows.add("in question", nodes);
    }
  }
  std::vector<std::string> outputs;
  for (std::size_t i = 0; i < found.outputs.size(); ++i) {
    outputs.push_back(std::isnan(found.outputs[i]) ? fmt::format("output_{} cannot be compared", i)
                                                   : fmt::format("output_{}: {}", i, db_text(found.outputs[i])));
  }
  rows.add("outputs", outputs);
  rows.add("compared",
           fmt::format("{} of {} values, over {}; {} cannot be seen, {} are not in the model", found.steps.size(),
                       found.values, counted(found.samples, "sample"), found.unseen, found.unknown));
  std::vector<std::string> steps;
  if (is_verbose) {
    for (const Step& step : found.steps) steps.push_back(step_row(summary, step));
  } else {
    for (const std::size_t i : found.losses) {
      if (steps.size() < kMaxRows) steps.push_back(step_row(summary, found.steps[i]));
    }
  }
  rows.add(is_verbose ? "values" : "loses most", steps);
  return head + rows.text();
}

std::string to_json(const VerifySummary& summary) {
  const auto& found = summary.verified.found;
  const anatomy::Graph& program = summary.verified.program;
  Json outputs = Json::array();
  for (std::size_t i = 0; i < found.outputs.size(); ++i) {
    Json row{{"output", fmt::format("output_{}", i)}};
    row["sqnr_db"] = std::isnan(found.outputs[i]) ? Json(nullptr) : Json(finite_db(found.outputs[i]));
    outputs.push_back(std::move(row));
  }
  Json steps = Json::array();
  for (const Step& step : found.steps) steps.push_back(step_json(summary, step));
  Json losses = Json::array();
  for (const std::size_t i : found.losses) {
    if (losses.size() < kMaxRows) losses.push_back(i);
  }
  Json departure = nullptr;
  if (found.departure) {
    const anatomy::Node& node = program.nodes[found.departure->node];
    departure = {{"op", node.op},
                 {"place", anatomy::place_of(node)},
                 {"number", node.number},
                 {"moves_elements", found.departure->moves_elements},
                 {"step", found.departure->step}};
    if (found.departure->counterpart) {
      departure["model_value"] = summary.verified.model[*found.departure->counterpart].name;
    }
    Json between = Json::array();
    for (const std::uint32_t index : found.departure->between) {
      const anatomy::Node& one = program.nodes[index];
      between.push_back({{"op", one.op}, {"place", anatomy::place_of(one)}, {"number", one.number}});
    }
    departure["between"] = std::move(between);
  }
  return dump({{"file", summary.file},
               {"reference", summary.reference},
               {"departs", found.departure.has_value()},
               {"departure", std::move(departure)},
               {"samples", found.samples},
               {"outputs", std::move(outputs)},
               {"values", found.values},
               {"unseen", found.unseen},
               {"unknown", found.unknown},
               {"steps", std::move(steps)},
               {"losses", std::move(losses)},
               {"warnings", warnings_json(summary.said)}});
}

}  // namespace isthmus
