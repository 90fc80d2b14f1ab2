// Walks the options that the help shows.
#include "describe.h"

#include <algorithm>

#include "cli/model_options.h"
#include "targets/registry.h"

namespace isthmus::pages {
namespace {

// "TEXT:{a,b}" has the choices a and b.
std::vector<std::string> listed(const std::string& type) {
  std::vector<std::string> words;
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}', open);
  if (open == std::string::npos || close == std::string::npos) return words;
  std::size_t at = open + 1;
  while (at <= close) {
    const std::size_t end = std::min(type.find(',', at), close);
    words.push_back(type.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

bool takes_targets(CLI::Option& option) {
  try {
    return option.get_validator(kTargetValidator) != nullptr;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}

OptionText describe(CLI::Option& option) {
  OptionText text;
  text.is_positional = option.nonpositional() ? false : option.get_positional();
  if (text.is_positional) {
    text.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  }
  if (text.is_positional || option.get_items_expected_max() != 0) {
    const std::string type = option.get_type_name();
    text.value = type.substr(0, type.find_first_of(": "));
    text.choices = listed(type);
    text.may_be_file = text.choices.empty() && text.value == "TEXT";
    if (takes_targets(option)) {
      for (const TargetDesc* target : all_targets()) text.choices.emplace_back(target->name);
      text.may_be_file = false;
    }
  }
  text.is_required = option.get_required();
  text.repeats = option.get_items_expected_max() > 1;
  text.help = option.get_description();
  return text;
}

CommandText describe_one(CLI::App& app, std::string name) {
  CommandText text{std::move(name), app.get_description(), app.get_footer(), {}};
  for (CLI::Option* option : app.get_options([](CLI::Option* row) { return !row->get_group().empty(); })) {
    text.options.push_back(describe(*option));
  }
  return text;
}

}  // namespace

std::vector<CommandText> describe(CLI::App& app) {
  std::vector<CommandText> commands{describe_one(app, "")};
  for (CLI::App* command : app.get_subcommands([](const CLI::App* row) { return !row->get_group().empty(); })) {
    commands.push_back(describe_one(*command, command->get_name()));
  }
  return commands;
}

}  // namespace isthmus::pages
