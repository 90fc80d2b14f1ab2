// What a word on the command line means in a model.
#include <set>

#include "base/near_words.h"
#include "report/explain.h"

namespace isthmus {
namespace {

using Matches = bool (*)(const Node& node, std::string_view name, std::string_view word);

bool is_called(const Node& node, std::string_view, std::string_view word) {
  const Origin& origin = node.origin;
  return op_text(node) == word || origin.call == word || origin.source == word || origin.module == word;
}

bool is_inside(const Node& node, std::string_view, std::string_view word) {
  return node.origin.module.size() > word.size() && node.origin.module.starts_with(word) &&
         node.origin.module[word.size()] == '.';
}

bool has_in_its_names(const Node& node, std::string_view name, std::string_view word) {
  for (const std::string_view text : {name, std::string_view(node.origin.module), std::string_view(node.origin.source),
                                      std::string_view(node.origin.call)}) {
    if (text.find(word) != std::string_view::npos) return true;
  }
  return op_text(node).find(word) != std::string::npos;
}

// The first that finds anything counts.
constexpr Matches kWays[] = {is_called, is_inside, has_in_its_names};

// A value of the model, or one that stands for it quantized.
std::optional<ValueId> named(const Outcome& outcome, std::string_view name) {
  if (const auto value = outcome.model.find(name)) return value;
  if (const auto former = outcome.model.aliases().find(name); former != outcome.model.aliases().end()) {
    return former->second;
  }
  const auto value = outcome.graph.find(name);
  return value && outcome.quantized != nullptr ? outcome.quantized->source[value->index] : std::nullopt;
}

std::optional<ValueId> parameter(const Graph& model, std::string_view fqn) {
  for (std::uint32_t i = 0; i < model.values().size(); ++i) {
    const Constant* constant = model.constant(ValueId{i});
    if (constant != nullptr && !constant->fqn.empty() && constant->fqn == fqn) return ValueId{i};
  }
  return std::nullopt;
}

}  // namespace

std::vector<ValueId> find_values(const Outcome& outcome, std::string_view word) {
  if (word.starts_with('%')) word.remove_prefix(1);
  if (word.empty()) return {};
  if (const auto value = named(outcome, word)) return {*value};
  if (const auto value = parameter(outcome.model, word)) return {*value};
  std::vector<ValueId> found;
  for (const Matches matches : kWays) {
    for (const Node& node : outcome.model.nodes()) {
      if (node.outputs.empty()) continue;
      if (matches(node, node_name(outcome.model, node), word)) found.push_back(node.outputs[0]);
    }
    if (!found.empty()) break;
  }
  return found;
}

std::vector<std::string_view> names_near(const Outcome& outcome, std::string_view word) {
  constexpr std::size_t kMax = 5;
  if (word.starts_with('%')) word.remove_prefix(1);
  std::set<std::string_view> words;
  for (const Value& value : outcome.model.values()) {
    if (value.kind != ValueKind::kConstant) words.insert(value.name);
  }
  for (const auto& [name, value] : outcome.model.aliases()) words.insert(name);
  for (const Node& node : outcome.model.nodes()) words.insert({node.origin.module, node.origin.call});
  return near_words(word, std::vector(words.begin(), words.end()), kMax);
}

}  // namespace isthmus
