// Starts programs by posix_spawn.
#include "base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/bytes.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): not every libc declares it

namespace isthmus {
namespace {

constexpr int kSignalled = 128;

tl::unexpected<Error> cannot(const std::string& what, int error) {
  return fail(ErrorKind::kEnvironment, fmt::format("cannot {}: {}", what, std::strerror(error)));
}

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }

  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

// Where it is wanted a group of its own, which can be killed as a whole; signals that we ignore as programs expect
// them.
class Attributes {
 public:
  explicit Attributes(bool own_group) {
    ::posix_spawnattr_init(&attributes_);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGXFSZ);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_,
                               static_cast<short>(POSIX_SPAWN_SETSIGDEF | (own_group ? POSIX_SPAWN_SETPGROUP : 0)));
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

Expected<pid_t> spawn(const std::string& program, const std::vector<std::string>& arguments, FileActions& actions,
                      bool own_group) {
  std::vector<std::string> texts{program};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  const Attributes attributes(own_group);
  pid_t child = 0;
  const int problem = ::posix_spawn(&child, program.c_str(), actions.get(), attributes.get(), pointers.data(), environ);
  if (problem != 0) return cannot("run " + program, problem);
  return child;
}

// Waits for it: the exit code.
Expected<int> end_of(pid_t child, const std::string& program) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return cannot("wait for " + program, errno);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

// The same; nothing where it was killed because the time is over.
Expected<std::optional<int>> end_within(pid_t child, const std::string& program, std::chrono::seconds limit) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kMaxPause{50'000};
  const Clock::time_point start = Clock::now();
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) {
      return std::optional(WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status));
    }
    if (ended < 0 && errno != EINTR) return cannot("wait for " + program, errno);
    const auto elapsed = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
    if (elapsed >= limit) break;
    std::this_thread::sleep_for(std::min(kMaxPause, elapsed / 16 + std::chrono::microseconds(100)));
  }
  ::kill(-child, SIGKILL);
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return std::optional<int>();
}

}  // namespace

Expected<TemporaryFolder> TemporaryFolder::make() {
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / "isthmus.XXXXXX").string();
  if (error || ::mkdtemp(path.data()) == nullptr) return cannot("make the folder " + path, errno);
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::optional<std::string> find_program(const std::string& name) {
  const auto runs = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return runs(name) ? std::optional(name) : std::nullopt;
  const char* const variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string folder(end == 0 ? "." : rest.substr(0, end));
    if (runs(folder + "/" + name)) return folder + "/" + name;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::nullopt;
}

Expected<FinishedProgram> run_program(const std::string& program, const std::vector<std::string>& arguments,
                                      const std::string& log, std::chrono::seconds limit) {
  FileActions actions;
  ::posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(actions.get(), STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_adddup2(actions.get(), STDOUT_FILENO, STDERR_FILENO);
  const pid_t child = TRY(spawn(program, arguments, actions, true));
  const Leftover leftover(child);
  const std::optional<int> code = TRY(end_within(child, program, limit));
  if (!code) {
    return fail(ErrorKind::kEnvironment,
                fmt::format("{} did not finish within {} seconds and was stopped", program, limit.count()));
  }
  FinishedProgram result;
  result.code = *code;
  std::error_code ignored;
  if (std::filesystem::file_size(log, ignored) > 0 && !ignored) result.text = TRY(map_file(log)).text();
  return result;
}

Expected<RunningProgram> RunningProgram::start(const std::string& program, const std::vector<std::string>& arguments) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return cannot("make a pipe", errno);
  FileActions actions;
  ::posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(actions.get(), ends[1], STDOUT_FILENO);
  auto child = spawn(program, arguments, actions, false);
  ::close(ends[1]);
  if (!child) {
    ::close(ends[0]);
    return tl::unexpected<Error>(std::move(child).error());
  }
  return RunningProgram(*child, ends[0], program);
}

RunningProgram::RunningProgram(RunningProgram&& other) noexcept
    : child_(std::exchange(other.child_, -1)),
      output_(std::exchange(other.output_, -1)),
      name_(std::move(other.name_)) {}

RunningProgram::~RunningProgram() {
  if (output_ >= 0) ::close(output_);
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  static_cast<void>(end_of(child_, name_));
}

Expected<std::size_t> RunningProgram::read(std::span<std::byte> bytes) {
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t count = ::read(output_, bytes.data() + got, bytes.size() - got);
    if (count == 0) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot("read what " + name_ + " writes", errno);
    got += static_cast<std::size_t>(count);
  }
  return got;
}

Expected<int> RunningProgram::wait() { return end_of(std::exchange(child_, -1), name_); }

Expected<std::vector<std::string>> split_words(std::string_view command) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  const auto add = [&](char c) {
    if (!in_word) words.emplace_back();
    in_word = true;
    words.back() += c;
  };
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == '\\' && quote != '\'') {
      if (++i == command.size()) return bad_input(fmt::format("{} ends with a backslash", command));
      add(command[i]);
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        add(c);
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      if (!in_word) words.emplace_back();  // "" is a word
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      in_word = false;
    } else {
      add(c);
    }
  }
  if (quote != 0) return bad_input(fmt::format("{}: missing closing quote {}", command, quote));
  return words;
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') quoted += "'\\'";
    quoted += c;
  }
  return quoted + "'";
}

}  // namespace isthmus
