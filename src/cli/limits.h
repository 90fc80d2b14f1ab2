// How much memory and time a command may take that runs what a file says.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace isthmus {

struct LimitOptions {
  std::uint64_t max_memory = 0;  // bytes; 0: as much as the machine has
  std::uint64_t timeout = 1800;  // seconds; 0: none
};

// --max-memory, --timeout, which is for the steps that `of` names.
void add_limit_options(CLI::App& command, LimitOptions& options,
                       const std::string& of = "for loading and for each call or sample");

// From here on the process ends with an error where it asks for more memory, and where a step takes too long. Returns
// the bytes that there are.
std::uint64_t start_limits(const LimitOptions& options);
// What to say after "out of memory": which option gives more, where one took it.
std::string_view out_of_memory_hint();
// Begins a step: what came before took as long as it took.
void restart_timeout();

}  // namespace isthmus
