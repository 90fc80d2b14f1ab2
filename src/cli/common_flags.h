// Options that mean the same in every command.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace isthmus {

struct CommonFlags {
  bool wants_json = false;
  bool is_quiet = false;
  bool is_verbose = false;

  // Whether results, warnings and notes are printed for people.
  bool speaks() const { return !wants_json && !is_quiet; }
};

// --json, -q, and -v where `verbose` says what it adds.
void add_common_flags(CLI::App& command, CommonFlags& flags, const std::string& verbose = {});

// A whole number, at least this.
CLI::Validator at_least(std::int64_t min);

// An option under its former name: it works as before and is not shown in the help.
template <class Value>
CLI::Option* add_hidden_alias(CLI::App& command, const std::string& name, Value& value) {
  return command.add_option(name, value)->group("");
}

}  // namespace isthmus
