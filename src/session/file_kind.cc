// A table of file formats: how each is recognised, and what its owner can do.
#include "session/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "evaluate/evaluation_file.h"
#include "formats/executorch/pte.h"
#include "formats/onnx/onnx.h"
#include "formats/torch/pt2.h"
#include "formats/tosa/tosa.h"
#include "formats/zip.h"
#include "stats/stats_file.h"

namespace isthmus {
namespace {

bool has_at(const Blob& file, std::size_t offset, std::string_view magic) {
  return file.size() >= offset + magic.size() && file.text().substr(offset, magic.size()) == magic;
}

bool is_zip(const Blob& file) { return has_at(file, 0, "PK\x03\x04"); }

// Whether a zip file has an entry whose name ends so.
bool has_entry(const Blob& file, std::string_view ending) {
  const auto zip = Zip::open(file);
  return zip && std::ranges::any_of(zip->entries(), [&](const auto& entry) { return entry.name.ends_with(ending); });
}

// "{" behind the length of the header, which lies inside the file.
bool is_safetensors(const Blob& file) {
  std::uint64_t header = 0;
  if (file.size() < sizeof(header) + 2) return false;
  std::memcpy(&header, file.bytes().data(), sizeof(header));
  return has_at(file, sizeof(header), "{") && header <= file.size() - sizeof(header) && header > 1;
}

bool is_text(const Blob& file) {
  constexpr std::size_t kLooked = 4096;
  const std::string_view start = file.text().substr(0, kLooked);
  return std::ranges::all_of(start, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || c == '\n' || c == '\r' || c == '\t';
  });
}

constexpr std::string_view kExport =
    "load it into the module and export that: torch.export.save(torch.export.export(model.eval(), inputs), \"m.pt2\")";

// What is not ours, the surest signs first.
struct Stranger {
  std::string_view what;
  std::string_view advice;
  bool (*matches)(const Blob& file);
};
constexpr Stranger kStrangers[] = {
    {.what = "empty", .advice = "write it again", .matches = [](const Blob& file) { return file.size() == 0; }},
    {.what = "compressed with gzip",
     .advice = "unpack it with gunzip",
     .matches = [](const Blob& file) { return has_at(file, 0, "\x1f\x8b"); }},
    {.what = "a TFLite model",
     .advice = "export the original module with torch.export or to ONNX",
     .matches = [](const Blob& file) { return has_at(file, 4, "TFL3"); }},
    {.what = "a NumPy array (.npy)",
     .advice = "it can be an --input or a calibration sample, but not a model",
     .matches = [](const Blob& file) { return has_at(file, 0, "\x93NUMPY"); }},
    {.what = "an HDF5 file",
     .advice = "export the module with torch.export",
     .matches = [](const Blob& file) { return has_at(file, 0, "\x89HDF"); }},
    {.what = "a GGUF file",
     .advice = "export the module with torch.export",
     .matches = [](const Blob& file) { return has_at(file, 0, "GGUF"); }},
    {.what = "a TorchScript archive (torch.jit.save)",
     .advice =
         "Isthmus takes torch.export archives: torch.export.save(torch.export.export(model.eval(), inputs), \"m.pt2\")",
     .matches =
         [](const Blob& file) { return is_zip(file) && has_entry(file, "constants.pkl") && has_entry(file, ".py"); }},
    {.what = "a checkpoint of torch.save: weights without a graph",
     .advice = kExport,
     .matches = [](const Blob& file) { return is_zip(file) && has_entry(file, "data.pkl"); }},
    {.what = "arrays of NumPy (.npz)",
     .advice = "it can be calibration data, but not a model",
     .matches = [](const Blob& file) { return is_zip(file) && has_entry(file, ".npy"); }},
    {.what = "a zip archive that is truncated or damaged",
     .advice = "copy or write it again",
     .matches = [](const Blob& file) { return is_zip(file) && !Zip::open(file); }},
    {.what = "a pickle of Python, perhaps an old checkpoint of torch.save",
     .advice = kExport,
     .matches = [](const Blob& file) { return has_at(file, 0, "\x80\x02") || has_at(file, 0, "\x80\x04"); }},
    {.what = "safetensors: weights without a graph", .advice = kExport, .matches = is_safetensors},
    {.what = "a text file",
     .advice = "a model is a torch.export archive (.pt2) or an ONNX model (.onnx)",
     .matches = is_text},
};

}  // namespace

std::string_view name_of(FileKind kind) {
  switch (kind) {
    case FileKind::kArchive:
      return "a model that torch.export wrote (.pt2)";
    case FileKind::kProgram:
      return "a program file (.pte)";
    case FileKind::kStatistics:
      return "a file of statistics (.stats)";
    case FileKind::kEvaluation:
      return "an evaluation (.eval)";
    case FileKind::kTosa:
      return "a TOSA graph (.tosa)";
    case FileKind::kOnnx:
      return "an ONNX model (.onnx)";
  }
  return {};
}

Expected<FileKind> kind_of(const std::string& path, const Blob& bytes) {
  if (pte::looks_like_program(bytes)) return FileKind::kProgram;
  if (is_stats_file(bytes)) return FileKind::kStatistics;
  if (is_evaluation_file(bytes)) return FileKind::kEvaluation;
  if (tosa::looks_like_graph(bytes)) return FileKind::kTosa;
  if (pt2::looks_like_archive(bytes)) return FileKind::kArchive;
  if (onnx::looks_like_model(bytes)) return FileKind::kOnnx;
  const auto* stranger = std::ranges::find_if(kStrangers, [&](const Stranger& row) { return row.matches(bytes); });
  if (stranger != std::end(kStrangers)) {
    return bad_input(fmt::format("{} is {}; {}", path, stranger->what, stranger->advice));
  }
  // Damaged files are read as what they are called, for the sake of what the reader finds.
  if (path.ends_with(".pte")) return FileKind::kProgram;
  if (path.ends_with(".tosa")) return FileKind::kTosa;
  if (path.ends_with(".onnx")) return FileKind::kOnnx;
  return FileKind::kArchive;
}

}  // namespace isthmus
