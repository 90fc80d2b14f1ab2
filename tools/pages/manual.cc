// Manual pages.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <sstream>
#include <utility>

#include "cli/app.h"
#include "writers.h"

namespace isthmus::pages {
namespace {

// A dash that can be copied into a shell, and no line that begins with a request.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n')) {
      result += "\\&";
      result += c;
    } else {
      result += c;
    }
  }
  return result;
}

std::string page_name(const CommandText& command) {
  return command.name.empty() ? "isthmus" : "isthmus-" + command.name;
}

std::string first_sentence(const std::string& text) {
  std::string sentence = text.substr(0, text.find(". "));
  while (sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

std::string synopsis(const CommandText& command) {
  if (command.name.empty()) return ".B isthmus\n.I COMMAND\n.RI [ OPTIONS ]\n";
  std::string text = fmt::format(".B isthmus {}\n", escaped(command.name));
  for (const OptionText& option : command.options) {
    if (option.is_positional) {
      const std::string name = escaped(option.names[0]) + (option.repeats ? "..." : "");
      text += option.is_required ? fmt::format(".I {}\n", name) : fmt::format(".RI [ {} ]\n", name);
    } else if (option.is_required) {
      text += fmt::format(".BI {} \" {}\"\n", escaped(option.names.back()), option.value);
    }
  }
  return text + ".RI [ OPTIONS ]\n";
}

std::string options(const CommandText& command) {
  std::string text;
  for (const OptionText& option : command.options) {
    text += ".TP\n";
    if (option.is_positional) {
      text += fmt::format(".I {}\n", escaped(option.names[0]));
    } else {
      text += fmt::format(".B {}{}\n", escaped(fmt::format("{}", fmt::join(option.names, ", "))),
                          option.value.empty() ? "" : fmt::format(" \\fI{}\\fP", option.value));
    }
    text += escaped(option.help) + "\n";
    if (!option.choices.empty()) {
      text += fmt::format(".br\nOne of: {}.\n", escaped(fmt::format("{}", fmt::join(option.choices, ", "))));
    }
  }
  return text;
}

// The examples of a footer as they are, other lines as text.
std::string examples(const std::string& footer) {
  std::string text;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Example")) {
      text += ".SH EXAMPLES\n";
    } else if (line.starts_with("  ")) {
      text += fmt::format(".nf\n.RS\n{}\n.RE\n.fi\n", escaped(line.substr(2)));
    } else if (!line.empty()) {
      text += fmt::format(".PP\n{}\n", escaped(line));
    }
  }
  return text;
}

constexpr std::array<std::pair<ExitCode, const char*>, 4> kExitCodes{{
    {kExitFine, "All is well."},
    {kExitFailed, "Bad input, or a run that failed. One line on standard error says why."},
    {kExitUsage, "Wrong usage."},
    {kExitGate, "A gate was not met."},
}};

}  // namespace

std::string manual(std::span<const CommandText> commands, const CommandText& command, const std::string& version) {
  const std::string name = page_name(command);
  std::string title = name;
  for (char& c : title) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  std::string text = fmt::format(".TH {} 1 \"\" \"isthmus {}\" \"Isthmus\"\n.SH NAME\n{} \\- {}\n", escaped(title),
                                 version, escaped(name), escaped(first_sentence(command.help)));
  text += ".SH SYNOPSIS\n" + synopsis(command) + ".SH DESCRIPTION\n" + escaped(command.help) + "\n";
  if (command.name.empty()) {
    text += ".SH COMMANDS\n";
    for (const CommandText& other : commands) {
      if (!other.name.empty()) text += fmt::format(".TP\n.B {}\n{}\n", escaped(other.name), escaped(other.help));
    }
  }
  text += ".SH OPTIONS\n" + options(command) + examples(command.footer) + ".SH EXIT STATUS\n";
  for (const auto& [code, sentence] : kExitCodes) {
    text += fmt::format(".TP\n.B {}\n{}\n", static_cast<int>(code), sentence);
  }
  text += ".SH SEE ALSO\n";
  std::string others;
  for (const CommandText& other : commands) {
    if (other.name == command.name) continue;
    others += fmt::format("{}.BR {} (1)", others.empty() ? "" : " ,\n", escaped(page_name(other)));
  }
  return text + others + "\n";
}

}  // namespace isthmus::pages
