// File -> method or interpreter, with threads and limits that suit the machine.
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

std::size_t thread_count(const ProgramOptions& options) {
  return options.threads != 0 ? options.threads : std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
}

}  // namespace

void add_program_options(CLI::App& command, ProgramOptions& options) {
  command.add_option("--method", options.method, "the method of a .pte file")->capture_default_str();
  command.add_option("--threads", options.threads, "for a .pte or .tosa file; without it, as many as there are cores")
      ->check(CLI::Range(1, 1024));
}

Expected<LoadedProgram> load_program(const OpenFile& file, const ProgramOptions& options) {
  if (file.kind != FileKind::kProgram) {
    return bad_input(fmt::format("{} is no program file (.pte)", file.path));
  }
  const std::size_t threads = thread_count(options);
  xnnpack::ThreadPool pool(threads);
  const std::uint64_t most_bytes = bytes_of_memory();
  auto method = TRY(within(
      run::Method::load(file.bytes, options.method, {.threads = pool.get(), .most_bytes = most_bytes}), file.path));
  return LoadedProgram{std::move(pool), std::move(method), threads, most_bytes};
}

Expected<LoadedTosa> load_tosa(const OpenFile& file, const ProgramOptions& options) {
  tosa::Graph graph = TRY(within(tosa::read_graph(file.bytes), file.path));
  const auto operators =
      std::ranges::count_if(graph.operators, [](const tosa::Operator& op) { return !op.inputs.empty(); });
  const std::size_t threads = thread_count(options);
  xnnpack::ThreadPool pool(threads);
  auto interpreter = TRY(within(
      tosa::Interpreter::load(std::move(graph), {.threads = pool.get(), .most_bytes = bytes_of_memory()}), file.path));
  return LoadedTosa{std::move(pool), std::move(interpreter), static_cast<std::size_t>(operators), threads};
}

}  // namespace isthmus
