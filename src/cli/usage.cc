// Looks for words that resemble a wrong one.
#include "cli/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/near_words.h"
#include "base/untrusted_text.h"

namespace isthmus {
namespace {

// All names of the options that the help shows.
std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

const CLI::App* chosen(const CLI::App& app, std::string_view word) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == word) return command;
  }
  return nullptr;
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string_view> words, std::string_view advice) {
  std::vector<std::string_view> near;
  for (const std::string_view candidate : words) {
    if (word.size() > 2 && candidate.starts_with(word)) near.push_back(candidate);
  }
  if (near.empty()) near = near_words(word, words, 3);
  if (near.empty()) return advice.empty() ? std::string() : fmt::format("; {}", advice);
  return fmt::format("; did you mean {}?{}{}", fmt::join(near, ", "), advice.empty() ? "" : " ", advice);
}

std::optional<std::string> unknown_word(const CLI::App& app, std::span<const char* const> words) {
  if (words.empty()) return std::nullopt;
  if (words[0][0] == '-') {
    const std::string first(words[0]);
    if (words.size() == 1 || app.get_option_no_throw(first.substr(0, first.find('='))) != nullptr) return std::nullopt;
    return fmt::format("{} is before the command: options come after it, as in `isthmus check MODEL --target T`",
                       shown(first));
  }
  const CLI::App* command = chosen(app, words[0]);
  if (command == nullptr) {
    std::vector<std::string_view> names;
    std::vector<std::string> own;
    for (const CLI::App* row : app.get_subcommands([](const CLI::App*) { return true; }))
      own.push_back(row->get_name());
    names.assign(own.begin(), own.end());
    return fmt::format("no command {}{}", shown(words[0]),
                       did_you_mean(words[0], names, "`isthmus help` lists all commands"));
  }
  for (const std::string_view word : words.subspan(1)) {
    if (word == "--") return std::nullopt;
    if (!word.starts_with("--")) continue;
    const std::string name(word.substr(0, word.find('=')));
    if (command->get_option_no_throw(name) != nullptr) continue;
    const std::vector<std::string> own = option_names(*command);
    const std::vector<std::string_view> names(own.begin(), own.end());
    return fmt::format(
        "{} has no option {}{}", command->get_name(), shown(name),
        did_you_mean(name, names, fmt::format("`isthmus help {}` lists all options", command->get_name())));
  }
  return std::nullopt;
}

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string list = fmt::format("{{{}}}", fmt::join(words, ","));
  const auto check = [words = std::move(words)](const std::string& word) -> std::string {
    if (std::ranges::find(words, word) != words.end()) return {};
    const std::vector<std::string_view> all(words.begin(), words.end());
    return fmt::format("{} is not one of {}{}", shown(word), fmt::join(all, ", "), did_you_mean(word, all));
  };
  return {check, list};
}

std::string text_of(const CLI::ParseError& error, const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  const CLI::App* command = parsed.empty() ? nullptr : parsed[0];
  const std::string name = command == nullptr ? "isthmus" : command->get_name();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && command != nullptr) {
    const std::vector<std::string> rest = command->remaining();
    const bool has_inputs = command->get_option_no_throw("--input") != nullptr;
    if (!rest.empty()) {
      return fmt::format(
          "{}: unexpected argument {}{}", name, shown(rest[0]),
          has_inputs ? fmt::format("; repeat the option for each input: --input {}", rest[0]) : std::string());
    }
  }
  if (command == nullptr) return "missing command; `isthmus help` lists all commands";
  std::string text = error.what();
  if (text == "--output is required") text = "missing output path: -o OUT";
  return fmt::format("{}: {}", name, text);
}

}  // namespace isthmus
