// The command line as data: what its parser knows of each command and option.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace isthmus::pages {

struct OptionText {
  std::vector<std::string> names;  // "-o", "--output"; a positional has one without a dash
  bool is_positional = false;
  std::string value;                 // what stands for its value, such as "INT"; empty for a flag
  std::vector<std::string> choices;  // the values it takes, where they are few
  bool may_be_file = false;          // whether its value may be a path
  bool is_required = false;
  bool repeats = false;
  std::string help;
};

struct CommandText {
  std::string name;  // empty for the program itself
  std::string help;
  std::string footer;  // examples
  std::vector<OptionText> options;
};

// The program first, then its commands.
std::vector<CommandText> describe(CLI::App& app);

}  // namespace isthmus::pages
