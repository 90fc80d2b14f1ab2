// Starts programs by posix_spawn.
#include "base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

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
                                      const std::string& log) {
  std::vector<std::string> texts{program};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);

  FileActions actions;
  ::posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(actions.get(), STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_adddup2(actions.get(), STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int problem = ::posix_spawn(&child, program.c_str(), actions.get(), nullptr, pointers.data(), environ);
  if (problem != 0) return cannot("run " + program, problem);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return cannot("wait for " + program, errno);
  }
  FinishedProgram result;
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
  std::error_code ignored;
  if (std::filesystem::file_size(log, ignored) > 0 && !ignored) result.text = TRY(map_file(log)).text();
  return result;
}

}  // namespace isthmus
