// File -> archive -> graph.
#include "session/open_model.h"

#include <fmt/format.h>

#include <filesystem>

#include "frontends/onnx/load.h"
#include "frontends/torch/load.h"

namespace isthmus {

Expected<OpenFile> open_file(const std::string& path) {
  Blob bytes = TRY(map_file(path));
  const FileKind kind = TRY(kind_of(path, bytes));
  return OpenFile{path, std::move(bytes), kind};
}

Expected<OpenModel> open_model(const OpenFile& file, const InputRequest& request) {
  if (file.kind != FileKind::kArchive && file.kind != FileKind::kOnnx) {
    return bad_input(fmt::format("{} is {}, not {} or {}", file.path, name_of(file.kind), name_of(FileKind::kArchive),
                                 name_of(FileKind::kOnnx)));
  }
  OpenModel result;
  result.path = file.path;
  result.bytes = file.bytes;
  StageClock clock(result.times);
  if (file.kind == FileKind::kOnnx) {
    const std::string folder = std::filesystem::path(file.path).parent_path().string();
    result.onnx = TRY(within(onnx::read_model(file.bytes, onnx::files_in(folder)), file.path));
    result.constants = request.constants;
    TRY(within(fix_inputs(*result.onnx, request, result.diagnostics), file.path));
    result.model = TRY(clock.stage(Stage::kLoad, within(load(*result.onnx, result.diagnostics), file.path)));
    return result;
  }
  if (!request.constants.empty()) {
    return bad_input(
        fmt::format("--constant {}: {} is {}; export it with the number itself, torch.export makes it a "
                    "constant",
                    request.constants.begin()->first, file.path, name_of(file.kind)));
  }
  result.archive = TRY(within(pt2::read_archive(file.bytes), file.path));
  result.model = TRY(clock.stage(Stage::kLoad, within(load(result.archive, result.diagnostics), file.path)));
  return result;
}

Expected<OpenModel> open_model(const std::string& path, const InputRequest& request) {
  return open_model(TRY(open_file(path)), request);
}

}  // namespace isthmus
