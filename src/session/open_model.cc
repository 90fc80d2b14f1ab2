// File -> archive -> graph.
#include "session/open_model.h"

#include <fmt/format.h>

#include <filesystem>

#include "formats/executorch/pte.h"
#include "formats/tosa/tosa.h"
#include "frontends/onnx/load.h"
#include "frontends/torch/load.h"
#include "stats/stats_file.h"

namespace isthmus {

Expected<OpenFile> open_file(const std::string& path) {
  Blob bytes = TRY(map_file(path));
  const bool is_program = pte::looks_like_program(bytes) || (path.ends_with(".pte") && !pt2::looks_like_archive(bytes));
  const bool is_tosa = tosa::looks_like_graph(bytes) || (path.ends_with(".tosa") && !pt2::looks_like_archive(bytes));
  const bool is_onnx = path.ends_with(".onnx") ? !pt2::looks_like_archive(bytes) : onnx::looks_like_model(bytes);
  const FileKind kind = is_program             ? FileKind::kProgram
                        : is_stats_file(bytes) ? FileKind::kStatistics
                        : is_tosa              ? FileKind::kTosa
                        : is_onnx              ? FileKind::kOnnx
                                               : FileKind::kArchive;
  return OpenFile{path, std::move(bytes), kind};
}

Expected<OpenModel> open_model(const OpenFile& file) {
  if (file.kind == FileKind::kProgram) {
    return bad_input(fmt::format("{} is a program file (.pte), not a model that torch.export wrote (.pt2)", file.path));
  }
  if (file.kind == FileKind::kTosa) {
    return bad_input(fmt::format("{} is a TOSA graph, not a model that torch.export wrote (.pt2)", file.path));
  }
  OpenModel result;
  result.path = file.path;
  StageClock clock(result.times);
  if (file.kind == FileKind::kOnnx) {
    const std::string folder = std::filesystem::path(file.path).parent_path().string();
    result.onnx = TRY(within(onnx::read_model(file.bytes, onnx::files_in(folder)), file.path));
    result.model = TRY(clock.stage(Stage::kLoad, within(load(*result.onnx, result.diagnostics), file.path)));
    return result;
  }
  result.archive = TRY(within(pt2::read_archive(file.bytes), file.path));
  result.model = TRY(clock.stage(Stage::kLoad, within(load(result.archive, result.diagnostics), file.path)));
  return result;
}

Expected<OpenModel> open_model(const std::string& path) { return open_model(TRY(open_file(path))); }

}  // namespace isthmus
