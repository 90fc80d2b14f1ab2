// File -> method or graph, with threads and limits that suit the machine.
#include "session/program.h"

#include <fmt/format.h>

#include "base/memory_size.h"

namespace isthmus {
Expected<LoadedProgram> load_program(const OpenFile& file, const ProgramOptions& options) {
  if (file.kind != FileKind::kProgram) {
    const bool is_model = file.kind == FileKind::kArchive || file.kind == FileKind::kOnnx;
    return bad_input(fmt::format("{} is {}, not a program file (.pte){}", file.path, name_of(file.kind),
                                 is_model ? "; `isthmus compile` makes one of it" : ""));
  }
  xnnpack::ThreadPool pool(options.threads);
  const std::uint64_t max_bytes = options.max_bytes.value_or(bytes_of_memory());
  auto method = TRY(within(run::Method::load(file.bytes, options.method,
                                             {.threads = pool.get(),
                                              .max_bytes = max_bytes,
                                              .with_profile = options.with_profile,
                                              .shows_values = options.shows_values}),
                           file.path));
  return LoadedProgram{std::move(pool), std::move(method), options.threads, max_bytes};
}

Expected<LoadedTosa> load_tosa(const OpenFile& file, const ProgramOptions& options) {
  xnnpack::ThreadPool pool(options.threads);
  auto graph = TRY(within(run::TosaGraph::load(file.bytes, {.threads = pool.get(),
                                                            .max_bytes = options.max_bytes.value_or(bytes_of_memory()),
                                                            .shows_values = options.shows_values}),
                          file.path));
  return LoadedTosa{std::move(pool), std::move(graph), options.threads};
}

}  // namespace isthmus
