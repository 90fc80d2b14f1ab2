#include "calibrate/command_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "formats/npy.h"

namespace isthmus {
namespace {

constexpr std::string_view kPrefix = "cmd:";
constexpr std::size_t kBlock = std::size_t{1} << 16;

class SpoolFile {
 public:
  explicit SpoolFile(const std::string& path) : file_(std::fopen(path.c_str(), "wb")) {}
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;
  ~SpoolFile() { close(); }

  bool write(std::span<const std::byte> bytes) {
    return file_ != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size();
  }
  bool close() {
    std::FILE* const file = std::exchange(file_, nullptr);
    return file != nullptr && std::fclose(file) == 0;
  }

 private:
  std::FILE* file_;
};

tl::unexpected<Error> cannot_keep() {
  return fail(ErrorKind::kEnvironment, fmt::format("cannot write it to a temporary file: {}", std::strerror(errno)));
}

// Copies one array; false at the end of the output.
Expected<bool> copy_array(RunningProgram& program, SpoolFile& file) {
  std::vector<std::byte> head(kNpyPrefixBytes);
  std::size_t got = TRY(program.read(head));
  if (got == 0) return false;
  head.resize(got);
  const std::uint64_t header_bytes = TRY(npy_header_bytes(head));
  if (header_bytes > got) {
    head.resize(header_bytes);
    got += TRY(program.read(std::span(head).subspan(got)));
    head.resize(got);
  }
  const NpyHeader header = TRY(read_npy_header(head, std::nullopt));
  if (!file.write(head)) return cannot_keep();
  std::vector<std::byte> block(kBlock);
  for (std::uint64_t left = header.data_bytes; left != 0;) {
    const auto wanted = std::span(block).first(static_cast<std::size_t>(std::min<std::uint64_t>(left, kBlock)));
    const std::size_t bytes = TRY(program.read(wanted));
    if (bytes == 0) return bad_input(fmt::format("the output ends {} bytes before the end of the array", left));
    if (!file.write(wanted.first(bytes))) return cannot_keep();
    left -= bytes;
  }
  return true;
}

}  // namespace

bool is_command(std::string_view path) { return path.starts_with(kPrefix); }

Expected<std::string> CommandOutput::arrays(const std::string& command, std::size_t limit) {
  if (!is_whole_ && (!folder_ || count_ < limit)) TRY(within(run(command, limit), command));
  return folder_->path() + "/arrays";
}

Expected<void> CommandOutput::run(const std::string& command, std::size_t limit) {
  const std::vector<std::string> words = TRY(split_words(std::string_view(command).substr(kPrefix.size())));
  if (words.empty()) return bad_input("missing program, as in cmd:python3 loader.py");
  const std::optional<std::string> path = find_program(words[0]);
  if (!path) return fail(ErrorKind::kEnvironment, fmt::format("program {} not found", words[0]));
  if (!folder_) folder_.emplace(TRY(TemporaryFolder::make()));
  SpoolFile file(folder_->path() + "/arrays");
  RunningProgram program = TRY(RunningProgram::start(*path, {words.begin() + 1, words.end()}));
  count_ = 0;
  while (count_ < limit) {
    const auto place = [&] { return fmt::format("array {} of its output", count_); };
    if (!TRY(within(copy_array(program, file), place))) break;
    ++count_;
  }
  is_whole_ = count_ < limit;
  if (!file.close()) return cannot_keep();
  if (!is_whole_) return {};  // and the program is stopped
  const int code = TRY(program.wait());
  if (code != 0) return fail(ErrorKind::kEnvironment, fmt::format("the program ended with exit code {}", code));
  return {};
}

}  // namespace isthmus
