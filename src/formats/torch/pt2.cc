// Reads torch.export archives: tells the generations of the container apart and collects their parts.
#include "formats/torch/pt2.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/untrusted_text.h"
#include "formats/torch/pt2_program.h"
#include "formats/torch/pt2_tensors.h"
#include "formats/torch/torch_save.h"
#include "formats/zip.h"

namespace isthmus::pt2 {
namespace {

constexpr std::string_view kFlatProgram = "serialized_exported_program.json";
constexpr std::string_view kFormatMarker = "/archive_format";

// Which entries hold the parts of an archive; null where it has no such part.
struct Container {
  std::string_view layout;
  const ZipEntry* program = nullptr;
  const ZipEntry* weights = nullptr;
  const ZipEntry* constants = nullptr;
  const ZipEntry* examples = nullptr;
  bool is_raw = false;  // weights and constants: raw bytes with a JSON description, else files of torch.save
};

Container flat_container(const Zip& zip) {
  return {
      .layout = "torch 2.6 flat",
      .program = zip.find(kFlatProgram),
      .weights = zip.find("serialized_state_dict.pt"),
      .constants = zip.find("serialized_constants.pt"),
      .examples = zip.find("serialized_example_inputs.pt"),
  };
}

// The folder that holds everything: it has the marker entry. Its name is that of the file when it was saved.
std::optional<std::string_view> find_root(const Zip& zip) {
  for (const ZipEntry& entry : zip.entries()) {
    const std::string_view name = entry.name;
    const std::size_t slash = name.find('/');
    if (slash != std::string_view::npos && name.substr(slash) == kFormatMarker) return name.substr(0, slash);
  }
  return std::nullopt;
}

Expected<std::string> find_model(const Zip& zip, std::string_view root) {
  const std::string folder = fmt::format("{}/models/", root);
  constexpr std::string_view kJson = ".json";
  std::vector<std::string> models;
  for (const ZipEntry& entry : zip.entries()) {
    const std::string_view name = entry.name;
    if (!name.starts_with(folder) || !name.ends_with(kJson) || name.size() <= folder.size() + kJson.size()) continue;
    models.emplace_back(name.substr(folder.size(), name.size() - folder.size() - kJson.size()));
  }
  if (models.size() == 1) return models.front();
  if (std::ranges::find(models, "model") != models.end()) return "model";
  if (models.empty()) {
    return bad_input(fmt::format("the archive has no exported program: entry {} is missing", shown(folder + "*.json")));
  }
  constexpr std::size_t kMaxShown = 20;
  models.resize(std::min(models.size(), kMaxShown));
  for (std::string& name : models) name = shown(name);
  return bad_input(
      fmt::format("the package has several programs, but none is named \"model\": {}", fmt::join(models, ", ")));
}

Expected<Container> packaged_container(Zip& zip, std::string_view root) {
  const std::string folder = std::string(root) + "/";
  const ZipEntry& marker = *zip.find(folder + "archive_format");
  const Blob format = TRY(zip.read(marker));
  if (format.text() != "pt2") {
    return bad_input(fmt::format("entry {} says {}, \"pt2\" is expected", shown(marker.name), shown(format.text())));
  }
  if (const ZipEntry* order = zip.find(folder + "byteorder")) {
    const Blob text = TRY(zip.read(*order));
    if (text.text() != "little") {
      return fail(ErrorKind::kUnsupported, fmt::format("entry {} says {}; only little-endian archives are supported",
                                                       shown(order->name), shown(text.text())));
    }
  }
  const std::string model = TRY(find_model(zip, root));
  Container container;
  container.program = zip.find(fmt::format("{}models/{}.json", folder, model));
  container.examples = zip.find(fmt::format("{}data/sample_inputs/{}.pt", folder, model));
  container.weights = zip.find(fmt::format("{}data/weights/{}.pt", folder, model));
  container.is_raw = container.weights == nullptr;
  if (container.is_raw) {
    container.layout = "pt2 archive, raw weights";
    container.weights = zip.find(fmt::format("{}data/weights/{}_weights_config.json", folder, model));
    container.constants = zip.find(fmt::format("{}data/constants/{}_constants_config.json", folder, model));
  } else {
    container.layout = "pt2 archive, pickled weights";
    container.constants = zip.find(fmt::format("{}data/constants/{}.pt", folder, model));
  }
  return container;
}

Expected<Container> find_container(Zip& zip) {
  if (zip.find(kFlatProgram) != nullptr) return flat_container(zip);
  if (const auto root = find_root(zip)) return packaged_container(zip, *root);
  const bool is_saved =
      std::ranges::any_of(zip.entries(), [](const ZipEntry& e) { return e.name.ends_with("/data.pkl"); });
  if (is_saved) {
    return bad_input("a file of torch.save or torch.jit.save; expected one of torch.export.save");
  }
  return bad_input(
      fmt::format("a zip archive, but not of torch.export.save: it has neither an entry {} nor one named "
                  "<folder>{}",
                  kFlatProgram, kFormatMarker));
}

Expected<TensorMap> read_tensors(Zip& zip, const ZipEntry* entry, bool is_raw) {
  if (entry == nullptr) return TensorMap();
  return is_raw ? read_raw_tensors(zip, *entry) : read_pickled_tensors(zip, *entry);
}

Expected<std::vector<ExampleLeaf>> read_examples(Zip& zip, const ZipEntry* entry) {
  if (entry == nullptr || entry->size == 0) return std::vector<ExampleLeaf>();
  const Blob file = TRY(zip.read(*entry));
  return within(read_saved_leaves(file, zip.budget()), fmt::format("entry {}", shown(entry->name)));
}

}  // namespace

Expected<Archive> read_archive(const Blob& file) {
  Zip zip = TRY(Zip::open(file));
  const Container container = TRY(find_container(zip));
  Archive archive;
  archive.layout = container.layout;
  archive.file_bytes = file.size();
  for (const ZipEntry& entry : zip.entries()) archive.entries.push_back({entry.name, entry.size, entry.is_compressed});
  const Blob program = TRY(zip.read(*container.program));
  archive.program = TRY(within(read_program(program.text()), fmt::format("entry {}", shown(container.program->name))));
  archive.weights = TRY(read_tensors(zip, container.weights, container.is_raw));
  archive.constants = TRY(read_tensors(zip, container.constants, container.is_raw));
  auto examples = read_examples(zip, container.examples);
  if (examples) {
    archive.examples = *std::move(examples);
  } else {
    archive.examples_problem = examples.error().text();
  }
  return archive;
}

bool looks_like_archive(const Blob& file) {
  const auto zip = Zip::open(file);
  return zip && (zip->find(kFlatProgram) != nullptr || find_root(*zip).has_value());
}

}  // namespace isthmus::pt2
