// Reads quant.toml, and what its rules make of each node.
#include "quantize/config/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <type_traits>

#include "base/near_words.h"
#include "base/toml_text.h"
#include "base/untrusted_text.h"
#include "ir/op.h"
#include "quantize/config/pins.h"

namespace isthmus {
namespace {

// Far beyond real files; rules times nodes times globs stays small.
constexpr std::size_t kMaxRules = 1000;
constexpr std::size_t kLongestGlob = 200;

std::size_t line_of(const toml::source_region& region) { return region.begin.line; }

// "; did you mean \"mse\"?", or nothing where no word is close.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> words) {
  const std::vector<std::string_view> near = near_words(word, words, 1);
  return near.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", near[0]);
}

// Words that a setting can be. Messages list them in this order.
template <class Choice>
struct Word {
  std::string_view word;
  Choice choice;
};
constexpr Word<DType> kStorages[] = {{"int8", DType::kI8}, {"int16", DType::kI16}};
constexpr Word<IoType> kIoTypes[] = {{"float", IoType::kFloat}, {"int8", IoType::kInt8}, {"uint8", IoType::kUint8}};
constexpr Word<BiasCorrection> kCorrections[] = {{"analytic", BiasCorrection::kAnalytic},
                                                 {"sequential", BiasCorrection::kSequential},
                                                 {"off", BiasCorrection::kOff}};
constexpr Word<bool> kWeights[] = {{"mse", true}, {"minmax", false}};
constexpr Word<bool> kRoundings[] = {{"together", true}, {"nearest", false}};
constexpr Word<std::optional<DType>> kPrecisions[] = {
    {"float", std::nullopt}, {"int8", DType::kI8}, {"int16", DType::kI16}};

template <class Words>
std::vector<std::string_view> names_of(const Words& words) {
  std::vector<std::string_view> names;
  for (const auto& word : words) names.push_back(word.word);
  return names;
}
template <const auto& Words>
std::vector<std::string_view> names() {
  return names_of(Words);
}

std::vector<Word<Estimator>> estimator_words() {
  std::vector<Word<Estimator>> words;
  for (const Estimator estimator : estimators()) words.push_back({name_of(estimator), estimator});
  return words;
}

template <class Words>
auto choice(const toml::node& node, const Words& words) -> Expected<decltype(std::begin(words)->choice)> {
  const auto* text = node.as_string();
  for (const auto& word : words) {
    if (text != nullptr && text->get() == word.word) return word.choice;
  }
  const std::vector<std::string_view> names = names_of(words);
  return bad_input(fmt::format("expected \"{}\"{}", fmt::join(names, "\" or \""),
                               text == nullptr ? std::string() : did_you_mean(text->get(), names)));
}
Expected<bool> boolean(const toml::node& node) {
  if (const auto* value = node.as_boolean()) return value->get();
  return bad_input("expected true or false");
}
// NaN where it is none: it lies in no range.
double number(const toml::node& node) {
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_integer()) return static_cast<double>(value->get());
  return std::numeric_limits<double>::quiet_NaN();
}
Expected<std::string> glob(const toml::node& node) {
  const auto* text = node.as_string();
  if (text == nullptr || text->get().empty() || text->get().size() > kLongestGlob) {
    return bad_input(fmt::format("expected a quoted glob of 1 to {} characters", kLongestGlob));
  }
  return text->get();
}

// A key and how its value becomes a setting. Failures say what is allowed; where it was is added by the caller.
template <class Settings>
struct Key {
  std::string_view name;
  Expected<void> (*read)(const toml::node& node, Settings& settings);
  std::vector<std::string_view> (*words)() = nullptr;  // of a choice: what it can be
};

template <auto Member, const auto& Words, class Settings>
Expected<void> read_choice(const toml::node& node, Settings& settings) {
  settings.*Member = TRY(choice(node, Words));
  return {};
}
template <auto Member, class Settings>
Expected<void> read_bool(const toml::node& node, Settings& settings) {
  settings.*Member = TRY(boolean(node));
  return {};
}
template <auto Member>
Expected<void> read_glob(const toml::node& node, QuantRule& rule) {
  rule.*Member = TRY(glob(node));
  return {};
}

Expected<void> read_estimator(const toml::node& node, QuantConfig& config) {
  config.range.estimator = TRY(choice(node, estimator_words()));
  return {};
}
Expected<void> read_percentile(const toml::node& node, QuantConfig& config) {
  const double value = number(node);
  if (!(value > 0 && value <= 1)) return bad_input("expected a number above 0 and at most 1");
  config.range.percentile = value;
  return {};
}
Expected<void> read_cut_bits(const toml::node& node, QuantConfig& config) {
  const double value = number(node);
  if (!(value >= 0 && value <= 16)) return bad_input("expected a number from 0 to 16");
  config.cut_bits = value;
  return {};
}
Expected<void> read_front(const toml::node& node, QuantConfig& config) {
  const double value = number(node);
  if (!(value >= 0 && value <= 1)) return bad_input("expected a share from 0 to 1");
  config.front = value;
  return {};
}
Expected<void> read_widen(const toml::node& node, QuantConfig& config) {
  const double value = number(node);
  if (!(value >= 0 && value <= 1)) return bad_input("expected a share from 0 to 1");
  config.widen = value;
  return {};
}
Expected<void> read_promote(const toml::node& node, QuantConfig& config) {
  const auto* value = node.as_integer();
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  if (value == nullptr || value->get() < 0 || value->get() > kMax) {
    return bad_input("expected a number of nodes, 0 or more");
  }
  config.promote = static_cast<std::size_t>(value->get());
  return {};
}

Expected<void> read_op(const toml::node& node, QuantRule& rule) {
  rule.op = TRY(glob(node));
  if (rule.op.find_first_of("*?") != std::string::npos || op_from_name(rule.op)) return {};
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kOpCount; ++i) names.push_back(name_of(static_cast<Op>(i)));
  return bad_input(fmt::format("expected an op from `isthmus targets --ops`{}", did_you_mean(rule.op, names)));
}
Expected<void> read_precision(const toml::node& node, QuantRule& rule) {
  rule.storage = TRY(choice(node, kPrecisions));
  rule.in_float = !rule.storage.has_value();
  return {};
}
Expected<void> read_rule_estimator(const toml::node& node, QuantRule& rule) {
  rule.estimator = TRY(choice(node, estimator_words()));
  return {};
}
// Zero is exactly representable, and scales are numbers that devices take.
Expected<void> read_range(const toml::node& node, QuantRule& rule) {
  constexpr double kMax = 1e30;
  const auto* list = node.as_array();
  const bool is_pair = list != nullptr && list->size() == 2;
  const Range range = is_pair ? Range{number((*list)[0]), number((*list)[1])} : Range{};
  const bool has_zero = range.min <= 0 && range.max >= 0;
  if (!has_zero || !(range.min >= -kMax && range.max <= kMax && range.max - range.min >= 1 / kMax)) {
    return bad_input("expected [min, max], two numbers with 0 between them");
  }
  rule.range = range;
  return {};
}

constexpr Key<QuantConfig> kKeys[] = {
    {"activations", read_choice<&QuantConfig::storage, kStorages, QuantConfig>, names<kStorages>},
    {"estimator", read_estimator, [] { return names_of(estimator_words()); }},
    {"percentile", read_percentile},
    {"per_channel", read_bool<&QuantConfig::per_channel, QuantConfig>},
    {"cut_bits", read_cut_bits},
    {"inputs", read_choice<&QuantConfig::inputs, kIoTypes, QuantConfig>, names<kIoTypes>},
    {"outputs", read_choice<&QuantConfig::outputs, kIoTypes, QuantConfig>, names<kIoTypes>},
    {"bias_correction", read_choice<&QuantConfig::bias_correction, kCorrections, QuantConfig>, names<kCorrections>},
    {"weights", read_choice<&QuantConfig::mse_weights, kWeights, QuantConfig>, names<kWeights>},
    {"weight_rounding", read_choice<&QuantConfig::rounds_together, kRoundings, QuantConfig>, names<kRoundings>},
    {"equalize", read_bool<&QuantConfig::equalize, QuantConfig>},
    {"front", read_front},
    {"wide", read_bool<&QuantConfig::wide, QuantConfig>},
    {"widen", read_widen},
    {"promote", read_promote},
};
constexpr Key<QuantRule> kRuleKeys[] = {
    {"node", read_glob<&QuantRule::node>},
    {"module", read_glob<&QuantRule::module>},
    {"op", read_op},
    {"precision", read_precision},
    {"estimator", read_rule_estimator},
    {"per_channel", read_bool<&QuantRule::per_channel, QuantRule>},
    {"range", read_range},
};
constexpr std::string_view kRule = "rule";

// A table gives its entries by name; people read a file from its top.
std::vector<std::pair<const toml::key*, const toml::node*>> in_order(const toml::table& table) {
  std::vector<std::pair<const toml::key*, const toml::node*>> entries;
  for (const auto& [key, node] : table) entries.emplace_back(&key, &node);
  std::ranges::sort(entries, {}, [](const auto& entry) {
    return std::pair(entry.first->source().begin.line, entry.first->source().begin.column);
  });
  return entries;
}

template <class Settings>
Expected<void> read_key(const toml::key& key, const toml::node& node,
                        std::type_identity_t<std::span<const Key<Settings>>> keys,
                        std::span<const std::string_view> further, const std::string& path, Settings& settings) {
  const auto row = std::ranges::find(keys, key.str(), &Key<Settings>::name);
  if (row == keys.end()) {
    std::vector<std::string_view> names(further.begin(), further.end());
    for (const Key<Settings>& allowed : keys) names.push_back(allowed.name);
    std::string hint = did_you_mean(key.str(), names);
    if (hint.empty()) hint = fmt::format("; there are {}", fmt::join(names, ", "));
    return wrong_line(path, line_of(key.source()), fmt::format("unknown key {}{}", shown(key.str()), hint));
  }
  const auto done = row->read(node, settings);
  if (done) return {};
  std::string found;
  if (const auto* text = node.as_string()) found = " = " + shown(text->get());
  return wrong_line(path, line_of(node.source()), fmt::format("{}{}: {}", row->name, found, done.error().message));
}

Expected<QuantRule> read_rule(const toml::table& table, const std::string& path) {
  QuantRule rule;
  rule.line = line_of(table.source());
  for (const auto& [key, node] : in_order(table)) {
    TRY(read_key(*key, *node, kRuleKeys, {}, path, rule));
  }
  if (rule.node.empty() && rule.module.empty() && rule.op.empty()) {
    return wrong_line(path, rule.line, "a rule needs node, module or op to select nodes");
  }
  if (!rule.in_float && !rule.estimator && !rule.per_channel && !rule.range) {
    return wrong_line(path, rule.line, "a rule needs a setting: precision, estimator, per_channel or range");
  }
  return rule;
}

Expected<std::vector<QuantRule>> read_rules(const toml::key& key, const toml::node& node, const std::string& path) {
  const auto* list = node.as_array();
  if (list == nullptr || !std::ranges::all_of(*list, [](const toml::node& item) { return item.is_table(); })) {
    return wrong_line(path, line_of(key.source()), "rules are an array of tables: begin each with [[rule]]");
  }
  if (list->size() > kMaxRules) {
    return wrong_line(path, line_of(key.source()), fmt::format("{} rules, at most {}", list->size(), kMaxRules));
  }
  std::vector<QuantRule> rules;
  for (const toml::node& item : *list) rules.push_back(TRY(read_rule(*item.as_table(), path)));
  return rules;
}

// By value: the names that it goes by besides its own.
std::vector<std::vector<std::string_view>> former_names(const Graph& graph) {
  std::vector<std::vector<std::string_view>> names(graph.values().size());
  for (const auto& [name, value] : graph.aliases()) {
    if (!graph.find(name)) names[value.index].push_back(name);
  }
  return names;
}

bool is_match(const QuantRule& rule, const Graph& graph, const Node& node,
              const std::vector<std::vector<std::string_view>>& formerly) {
  const auto fits = [](const std::string& glob, std::string_view text) {
    return glob.empty() || matches_glob(glob, text);
  };
  const auto is_named = [&](ValueId id) {
    const auto matches = [&](std::string_view name) { return matches_glob(rule.node, name); };
    return matches(graph[id].name) || std::ranges::any_of(formerly[id.index], matches);
  };
  // A module means all that is below it, too.
  const bool is_inside = fits(rule.module, node.origin.module) || fits(rule.module + ".*", node.origin.module);
  return fits(rule.op, name_of(node.op)) && is_inside &&
         (rule.node.empty() || std::ranges::any_of(node.outputs, is_named));
}

void follow(const QuantRule& rule, NodeSettings& settings) {
  settings.in_float = rule.in_float.value_or(settings.in_float);
  settings.storage = rule.storage.value_or(settings.storage);
  settings.is_storage_given = settings.is_storage_given || rule.storage.has_value();
  settings.range.estimator = rule.estimator.value_or(settings.range.estimator);
  settings.per_channel = rule.per_channel.value_or(settings.per_channel);
  if (rule.range) settings.fixed_range = rule.range;
}

// "node \"conv_*\", op \"conv2d\""
std::string globs_text(const QuantRule& rule) {
  std::string text;
  for (const auto& [name, glob] : {std::pair("node", &rule.node), {"module", &rule.module}, {"op", &rule.op}}) {
    if (!glob->empty()) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, shown(*glob));
  }
  return text;
}

}  // namespace

std::vector<std::string_view> config_choices(std::string_view key) {
  const auto row = std::ranges::find(kKeys, key, &Key<QuantConfig>::name);
  CHECK(row != std::end(kKeys) && row->words != nullptr, "a key without choices");
  return row->words();
}

Expected<QuantConfig> read_config(std::string_view text, const std::string& path) {
  QuantConfig config;
  config.file = path;
  return read_config(text, path, std::move(config));
}

Expected<QuantConfig> read_config(std::string_view text, const std::string& path, QuantConfig config) {
  const toml::table table = TRY(parse_toml(text, path));
  for (const auto& [key, node] : in_order(table)) {
    if (key->str() == kRule) {
      config.rules = TRY(read_rules(*key, *node, path));
    } else {
      TRY(read_key(*key, *node, kKeys, std::span(&kRule, 1), path, config));
      config.given.emplace_back(key->str());
    }
  }
  if (!table.empty()) {
    std::ostringstream all;
    all << table;
    config.text += all.str() + "\n";
  }
  return config;
}

std::vector<NodeSettings> settings_of(const Graph& graph, const QuantConfig& config, Diagnostics& diagnostics) {
  const NodeSettings defaults{false, config.storage, false, config.range, std::nullopt, config.per_channel};
  std::vector<NodeSettings> settings(graph.nodes().size(), defaults);
  const auto formerly = config.rules.empty() ? std::vector<std::vector<std::string_view>>() : former_names(graph);
  for (const QuantRule& rule : config.rules) {
    bool has_matched = false;
    for (std::size_t i = 0; i < settings.size(); ++i) {
      if (!is_match(rule, graph, graph.nodes()[i], formerly)) continue;
      has_matched = true;
      follow(rule, settings[i]);
    }
    if (has_matched) continue;
    diagnostics.add({.severity = Severity::kWarning,
                     .code = "unused-rule",
                     .node = "",
                     .text = fmt::format("{}:{}: no node of the model matches {}", harmless(config.file), rule.line,
                                         globs_text(rule)),
                     .line = rule.line});
  }
  const PinnedFlow pinned = pinned_flow(graph);
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const auto& outputs = graph.nodes()[i].outputs;
    if (const auto given = outputs.empty() ? std::nullopt : pinned.storage[outputs[0].index]) {
      settings[i].storage = *given;
      settings[i].is_storage_given = true;
    }
    settings[i].in_float = settings[i].in_float || graph.nodes()[i].in_float;
  }
  return settings;
}

bool matches_glob(std::string_view glob, std::string_view text) {
  std::size_t g = 0;
  std::size_t t = 0;
  // Only the last '*' is ever tried again: what an earlier one could give up, the last one can take.
  std::size_t behind_star = std::string_view::npos;
  std::size_t retry = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      behind_star = ++g;
      retry = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (behind_star != std::string_view::npos) {
      g = behind_star;
      t = ++retry;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

}  // namespace isthmus
