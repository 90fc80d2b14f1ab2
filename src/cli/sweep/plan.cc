// Reads the TOML, key by key.
#include "cli/sweep/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>

#include "base/near_words.h"
#include "base/toml_text.h"
#include "base/untrusted_text.h"
#include "cli/model_options.h"

namespace isthmus {
namespace {

constexpr std::size_t kMaxPoints = 100'000;

Expected<std::string> string_of(const toml::node& node, const std::string& path) {
  const auto* text = node.as_string();
  if (text == nullptr || text->get().empty())
    return wrong_line(path, node.source().begin.line, "expected a text in quotes");
  return text->get();
}

Expected<std::vector<std::string>> targets_of(const toml::node& node, const std::string& path) {
  const toml::array* array = node.as_array();
  if (array == nullptr || array->empty())
    return wrong_line(path, node.source().begin.line, "expected a list of targets");
  std::vector<std::string> found;
  for (const toml::node& element : *array) {
    std::string name = TRY(string_of(element, path));
    const std::string mistake = target_names()(name);
    if (!mistake.empty()) return wrong_line(path, element.source().begin.line, mistake);
    if (std::ranges::find(found, name) != found.end()) {
      return wrong_line(path, element.source().begin.line, fmt::format("{} occurs twice", name));
    }
    found.push_back(std::move(name));
  }
  return found;
}

// A text of a row.
template <class Row>
struct Key {
  std::string_view name;
  std::string Row::*text;
  bool is_needed = false;
};
constexpr Key<SweepModel> kModelKeys[] = {
    {.name = "file", .text = &SweepModel::file, .is_needed = true},
    {.name = "name", .text = &SweepModel::name},
    {.name = "calibrate", .text = &SweepModel::calibrate},
    {.name = "test", .text = &SweepModel::test, .is_needed = true},
    {.name = "labels", .text = &SweepModel::labels},
    {.name = "options", .text = &SweepModel::options},
};
constexpr Key<SweepConfiguration> kConfigurationKeys[] = {
    {.name = "name", .text = &SweepConfiguration::name, .is_needed = true},
    {.name = "options", .text = &SweepConfiguration::options},
};
constexpr std::string_view kTargets = "targets";

tl::unexpected<Error> unknown_key(const toml::key& key, const std::vector<std::string_view>& known,
                                  const std::string& path) {
  const auto near = near_words(key.str(), known, 1);
  return wrong_line(path, key.source().begin.line,
                    fmt::format("unknown key {}; {} are known{}", shown(key.str()), fmt::join(known, ", "),
                                near.empty() ? "" : fmt::format("; did you mean {}?", near[0])));
}

// All of [[model]] or [[configuration]]; `targets` is taken where the row has them.
template <class Row>
Expected<std::vector<Row>> rows_of(const toml::node& node, std::span<const Key<Row>> keys, const std::string& what,
                                   const std::string& path) {
  const toml::array* array = node.as_array();
  if (array == nullptr || array->empty() || !array->is_homogeneous(toml::node_type::table)) {
    return wrong_line(path, node.source().begin.line, fmt::format("expected a table, as [[{}]]", what));
  }
  constexpr bool kHasTargets = requires(Row row) { row.targets; };
  std::vector<std::string_view> known;
  for (const Key<Row>& key : keys) known.push_back(key.name);
  if constexpr (kHasTargets) known.push_back(kTargets);
  std::vector<Row> rows;
  for (const toml::node& element : *array) {
    Row row;
    for (const auto& [key, value] : *element.as_table()) {
      if constexpr (kHasTargets) {
        if (key.str() == kTargets) {
          row.targets = TRY(targets_of(value, path));
          continue;
        }
      }
      const auto found = std::ranges::find(keys, key.str(), &Key<Row>::name);
      if (found == keys.end()) return unknown_key(key, known, path);
      row.*(found->text) = TRY(string_of(value, path));
    }
    for (const Key<Row>& key : keys) {
      if (key.is_needed && (row.*(key.text)).empty()) {
        return wrong_line(path, element.source().begin.line, fmt::format("[[{}]] needs `{}`", what, key.name));
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

bool can_name_file(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  return !name.empty() && name.size() <= 64 && name[0] != '.' && name[0] != '-' && std::ranges::all_of(name, is_plain);
}

Expected<std::vector<SweepPoint>> points_of(const std::vector<SweepModel>& models,
                                            const std::vector<std::string>& targets,
                                            const std::vector<SweepConfiguration>& configurations) {
  if (models.size() * targets.size() * configurations.size() > kMaxPoints) {
    return bad_input(fmt::format("more than {} points", kMaxPoints));
  }
  std::vector<SweepPoint> points;
  std::set<std::string> names;
  for (const SweepModel& model : models) {
    for (const std::string& target : targets) {
      for (const SweepConfiguration& configuration : configurations) {
        const auto& chosen = configuration.targets;
        if (!chosen.empty() && std::ranges::find(chosen, target) == chosen.end()) continue;
        const std::string name = fmt::format("{}.{}.{}", model.name, target, configuration.name);
        if (!names.insert(name).second) {
          return bad_input(fmt::format("two points are named {}: give models and configurations unique names", name));
        }
        points.push_back({name, model, target, configuration});
      }
    }
  }
  if (points.empty()) return bad_input("there are no points: no configuration is for these targets");
  return points;
}

}  // namespace

Expected<SweepPlan> read_plan(std::string_view text, const std::string& path) {
  const toml::table table = TRY(parse_toml(text, path));
  SweepPlan plan;
  plan.folder = std::filesystem::path(path).replace_extension(".sweep").string();
  std::vector<std::string> targets;
  std::vector<SweepModel> models;
  std::vector<SweepConfiguration> configurations;
  for (const auto& [key, node] : table) {
    if (key.str() == kTargets) {
      targets = TRY(targets_of(node, path));
    } else if (key.str() == "folder") {
      plan.folder = TRY(string_of(node, path));
    } else if (key.str() == "model") {
      models = TRY(rows_of<SweepModel>(node, kModelKeys, "model", path));
    } else if (key.str() == "configuration") {
      configurations = TRY(rows_of<SweepConfiguration>(node, kConfigurationKeys, "configuration", path));
    } else {
      return unknown_key(key, {kTargets, "folder", "model", "configuration"}, path);
    }
  }
  if (targets.empty()) return bad_input(fmt::format("{}: missing `targets`", harmless(path)));
  if (models.empty()) return bad_input(fmt::format("{}: missing [[model]]", harmless(path)));
  if (configurations.empty()) return bad_input(fmt::format("{}: missing [[configuration]]", harmless(path)));
  for (SweepModel& model : models) {
    if (model.name.empty()) model.name = std::filesystem::path(model.file).stem().string();
  }
  const auto demand_name = [&](std::string_view what, const std::string& name) -> Expected<void> {
    if (can_name_file(name)) return {};
    return bad_input(fmt::format("{}: the name {} of a {} names files: letters, digits, _ - . are allowed, 64 at most",
                                 harmless(path), shown(name), what));
  };
  for (const SweepModel& model : models) TRY(demand_name("model", model.name));
  for (const SweepConfiguration& row : configurations) TRY(demand_name("configuration", row.name));
  plan.points = TRY(within(points_of(models, targets, configurations), harmless(path)));
  return plan;
}

}  // namespace isthmus
