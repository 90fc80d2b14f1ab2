// What a program wrote on standard output, in a file that lives as long as this.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "base/process.h"

namespace isthmus {

// Whether samples come from a program: "cmd:python3 loader.py".
bool is_command(std::string_view path);

class CommandOutput {
 public:
  // The file of .npy arrays. Runs the program where it has not run yet, or was stopped before it had written as many
  // arrays as are wanted now; then stops it when it has.
  Expected<std::string> arrays(const std::string& command, std::size_t limit);
  // How many arrays the file has.
  std::size_t count() const { return count_; }

 private:
  Expected<void> run(const std::string& command, std::size_t limit);

  std::optional<TemporaryFolder> folder_;
  std::size_t count_ = 0;
  bool is_whole_ = false;  // the program has ended
};

}  // namespace isthmus
