// Makes views of an archive's weights and constants without touching their bytes.
#include "formats/torch/pt2_tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/untrusted_text.h"
#include "formats/json.h"
#include "formats/torch/pt2_values.h"
#include "formats/torch/torch_save.h"

namespace isthmus::pt2 {
namespace {

Expected<std::int64_t> constant(const SymInt& size) {
  if (const auto* number = std::get_if<std::int64_t>(&size)) return *number;
  return bad_input("its sizes, strides and offset must be numbers");
}

Expected<std::vector<std::int64_t>> constants(const std::vector<SymInt>& sizes) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(sizes.size());
  for (const SymInt& size : sizes) numbers.push_back(TRY(constant(size)));
  return numbers;
}

Expected<TensorView> read_raw_tensor(Zip& zip, std::string_view folder, json::Value payload) {
  const auto pickled = TRY(payload.find("use_pickle"));
  const auto described = TRY(payload.find("tensor_meta"));
  if (!described || (pickled && TRY(pickled->as_bool()))) {
    return payload.error("a pickled object (a tensor subclass or a custom class); only plain tensors are supported",
                         ErrorKind::kUnsupported);
  }
  const TensorMeta meta = TRY(read_tensor_meta(*described));
  if (meta.layout != Layout::kStrided)
    return described->error("sparse tensors are not supported", ErrorKind::kUnsupported);
  const std::string path = std::string(folder) + TRY(read_text(TRY(payload.get("path_name"))));
  const ZipEntry* entry = zip.find(path);
  if (entry == nullptr) return payload.error(fmt::format("its entry {} is missing from the archive", shown(path)));
  std::vector<std::int64_t> sizes = TRY(constants(meta.sizes));
  if (entry->size == 0 && std::ranges::find(sizes, 0) == sizes.end()) {
    return payload.error(fmt::format("its entry {} is empty: the model was exported without its weights", shown(path)));
  }
  return make_tensor_view(meta.dtype, std::move(sizes), TRY(constants(meta.strides)),
                          TRY(constant(meta.storage_offset)), TRY(zip.read(*entry)));
}

Expected<TensorMap> read_config(Zip& zip, std::string_view folder, std::string_view text) {
  const json::Document document = TRY(json::Document::parse(text));
  TensorMap tensors;
  for (const json::Value payload : TRY(TRY(document.root().get("config")).members())) {
    const auto place = [&] { return fmt::format("tensor {}", shown(payload.key())); };
    tensors.emplace(payload.key(), TRY(within(read_raw_tensor(zip, folder, payload), place)));
  }
  return tensors;
}

}  // namespace

Expected<TensorMap> read_raw_tensors(Zip& zip, const ZipEntry& config) {
  const std::string_view folder = std::string_view(config.name).substr(0, config.name.rfind('/') + 1);
  const Blob text = TRY(zip.read(config));
  return within(read_config(zip, folder, text.text()), fmt::format("entry {}", shown(config.name)));
}

Expected<TensorMap> read_pickled_tensors(Zip& zip, const ZipEntry& entry) {
  if (entry.size == 0) return TensorMap();
  const Blob file = TRY(zip.read(entry));
  return within(read_saved_tensors(file, zip.budget()), fmt::format("entry {}", shown(entry.name)));
}

}  // namespace isthmus::pt2
