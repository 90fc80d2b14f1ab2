// File -> method, with threads and limits that suit the machine.
#include "cli/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace isthmus {
namespace {

std::uint64_t bytes_of_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return run::LoadOptions().most_bytes;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
}

}  // namespace

void add_program_options(CLI::App& command, ProgramOptions& options) {
  command.add_option("--method", options.method, "the method of a .pte file")->capture_default_str();
  command.add_option("--threads", options.threads, "for a .pte file; without it, as many as there are cores")
      ->check(CLI::Range(1, 1024));
}

Expected<LoadedProgram> load_program(const OpenFile& file, const ProgramOptions& options) {
  if (file.kind != FileKind::kProgram) {
    return bad_input(fmt::format("{} is no program file (.pte)", file.path));
  }
  const std::size_t threads =
      options.threads != 0 ? options.threads : std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  xnnpack::ThreadPool pool(threads);
  const std::uint64_t most_bytes = bytes_of_memory();
  auto method = TRY(within(
      run::Method::load(file.bytes, options.method, {.threads = pool.get(), .most_bytes = most_bytes}), file.path));
  return LoadedProgram{std::move(pool), std::move(method), threads, most_bytes};
}

}  // namespace isthmus
