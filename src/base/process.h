// Other programs: finding and running them.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "base/leftovers.h"

namespace isthmus {

// A folder that is gone, with all in it, when this is.
class TemporaryFolder {
 public:
  static Expected<TemporaryFolder> make();
  TemporaryFolder(TemporaryFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), leftover_(std::move(other.leftover_)) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)), leftover_(std::string_view(path_)) {}

  std::string path_;
  Leftover leftover_;
};

// The file that a shell would run for this name; nothing if there is none.
std::optional<std::string> find_program(const std::string& name);

struct FinishedProgram {
  int code = 0;      // by which it ended; above 128 where a signal ended it
  std::string text;  // all that it said
};

// Runs it to its end, without a shell and without input. What it says goes through the file `log`. Where it takes
// longer than it may, it is killed with all that it started, which is an error.
Expected<FinishedProgram> run_program(const std::string& program, const std::vector<std::string>& arguments,
                                      const std::string& log, std::chrono::seconds limit);

// A program whose standard output is read while it runs. It has no input; its messages go where ours go. It is killed
// when this goes before it has ended.
class RunningProgram {
 public:
  static Expected<RunningProgram> start(const std::string& program, const std::vector<std::string>& arguments);
  RunningProgram(RunningProgram&& other) noexcept;
  RunningProgram& operator=(RunningProgram&&) = delete;
  ~RunningProgram();

  // Fills all of `bytes`, or less at the end of the output.
  Expected<std::size_t> read(std::span<std::byte> bytes);
  // Until it has ended: its exit code, above 128 where a signal ended it.
  Expected<int> wait();

 private:
  RunningProgram(int child, int output, std::string name) : child_(child), output_(output), name_(std::move(name)) {}

  int child_;   // -1: it has ended
  int output_;  // the end of a pipe
  std::string name_;
};

// The words of a command as a shell would see them: blanks divide them, quotes and backslashes keep blanks. Nothing
// else has a meaning.
Expected<std::vector<std::string>> split_words(std::string_view command);

// The same way back: letters, digits and what no shell gives a meaning stay as they are, all else stands in quotes.
std::string shell_word(std::string_view word);

}  // namespace isthmus
