// Completion functions for bash, zsh and fish: commands, options, and the values of options where they are few.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "writers.h"

namespace isthmus::pages {
namespace {

std::span<const CommandText> commands_of(std::span<const CommandText> all) { return all.subspan(1); }

std::string names_of(std::span<const CommandText> commands) {
  std::string names;
  for (const CommandText& command : commands_of(commands)) names += command.name + " ";
  return names + "help";
}

// In single quotes of a shell.
std::string in_quotes(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

// The help of an option as one phrase of a menu.
std::string phrase(const std::string& text) { return text.substr(0, text.find_first_of(";\n")); }

// In the description of a zsh specification.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_value(const OptionText& option) {
  if (!option.choices.empty()) return fmt::format("({})", fmt::join(option.choices, " "));
  return option.may_be_file ? "_files" : " ";
}

}  // namespace

std::string bash_completion(std::span<const CommandText> commands) {
  std::string values;
  std::string names;
  for (const CommandText& command : commands_of(commands)) {
    std::string own;
    for (const OptionText& option : command.options) {
      if (option.is_positional) continue;
      std::string patterns;
      for (const std::string& name : option.names) {
        own += (own.empty() ? "" : " ") + name;
        patterns += (patterns.empty() ? "" : " | ") + in_quotes(command.name + " " + name);
      }
      if (option.value.empty() || option.may_be_file) continue;
      values += fmt::format("    {}) words={}; takes_files= ;;\n", patterns,
                            in_quotes(fmt::format("{}", fmt::join(option.choices, " "))));
    }
    for (const OptionText& option : command.options) {
      if (option.is_positional && !option.choices.empty()) {
        values += fmt::format("    {}) words={} ;;\n", in_quotes(command.name + " " + command.name),
                              in_quotes(fmt::format("{}", fmt::join(option.choices, " "))));
      }
    }
    names += fmt::format("      {}) words={} ;;\n", command.name, in_quotes(own));
  }
  return fmt::format(R"(# bash completion for isthmus
_isthmus() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command=${{COMP_WORDS[1]}}
  local words= takes_files=yes commands={}
  COMPREPLY=()
  if [[ $word == '=' ]]; then
    word=
  elif [[ $before == '=' ]]; then
    before=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  if ((COMP_CWORD == 1)) || [[ $command == help ]]; then
    [[ $word != -* ]] || commands='--help --version'
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
    return
  fi
  case "$command $before" in
{}  esac
  if [[ -z $words && $word == -* ]]; then
    takes_files=
    case $command in
{}    esac
  fi
  if [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  elif [[ -n $takes_files ]]; then
    compopt -o default 2>/dev/null
  fi
}}
complete -F _isthmus isthmus
)",
                     in_quotes(names_of(commands)), values, names);
}

std::string zsh_completion(std::span<const CommandText> commands) {
  std::string menu;
  std::string cases;
  for (const CommandText& command : commands_of(commands)) {
    menu += fmt::format("    {}\n", in_quotes(command.name + ":" + zsh_text(phrase(command.help))));
    cases += fmt::format("    {})\n      _arguments -s \\\n", command.name);
    for (const OptionText& option : command.options) {
      if (option.is_positional) {
        const std::string place = option.repeats ? "*" : option.is_required ? "" : ":";
        cases += fmt::format("        {} \\\n",
                             in_quotes(fmt::format("{}:{}:{}", place, zsh_text(option.names[0]), zsh_value(option))));
        continue;
      }
      for (const std::string& name : option.names) {
        std::string spec = fmt::format("{}{}{}[{}]", option.repeats ? "*" : "", name,
                                       option.value.empty()     ? ""
                                       : name.starts_with("--") ? "="
                                                                : "+",
                                       zsh_text(phrase(option.help)));
        if (!option.value.empty()) spec += fmt::format(":{}:{}", option.value, zsh_value(option));
        cases += fmt::format("        {} \\\n", in_quotes(spec));
      }
    }
    cases += "        && return\n      ;;\n";
  }
  return fmt::format(R"(#compdef isthmus
_isthmus() {{
  local -a commands
  commands=(
{}    'help:says more about a command'
  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
    help) _describe command commands ;;
{}  esac
}}
_isthmus "$@"
)",
                     menu, cases);
}

std::string fish_completion(std::span<const CommandText> commands) {
  std::string text = "# fish completion for isthmus\n";
  for (const CommandText& command : commands_of(commands)) {
    text += fmt::format("complete -c isthmus -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                        in_quotes(phrase(command.help)));
  }
  text += fmt::format("complete -c isthmus -n '__fish_seen_subcommand_from help' -f -a {}\n",
                      in_quotes(names_of(commands)));
  for (const CommandText& command : commands_of(commands)) {
    const std::string when = fmt::format("-n '__fish_seen_subcommand_from {}'", command.name);
    for (const OptionText& option : command.options) {
      if (option.is_positional) {
        if (!option.choices.empty()) {
          text += fmt::format("complete -c isthmus {} -f -a {}\n", when,
                              in_quotes(fmt::format("{}", fmt::join(option.choices, " "))));
        }
        continue;
      }
      text += fmt::format("complete -c isthmus {}", when);
      for (const std::string& name : option.names) {
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.value.empty()) text += option.may_be_file ? " -r -F" : " -x";
      if (!option.choices.empty()) text += " -a " + in_quotes(fmt::format("{}", fmt::join(option.choices, " ")));
      text += fmt::format(" -d {}\n", in_quotes(phrase(option.help)));
    }
  }
  return text;
}

}  // namespace isthmus::pages
