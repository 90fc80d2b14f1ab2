// Other programs: finding and running them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/expected.h"

namespace isthmus {

// A folder that is gone, with all in it, when this is.
class TemporaryFolder {
 public:
  static Expected<TemporaryFolder> make();
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// The file that a shell would run for this name; nothing if there is none.
std::optional<std::string> find_program(const std::string& name);

struct FinishedProgram {
  int code = 0;      // by which it ended; above 128 where a signal ended it
  std::string text;  // all that it said
};

// Runs it to its end, without a shell and without input. What it says goes through the file `log`.
Expected<FinishedProgram> run_program(const std::string& program, const std::vector<std::string>& arguments,
                                      const std::string& log);

}  // namespace isthmus
