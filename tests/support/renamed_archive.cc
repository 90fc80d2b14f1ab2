// Unpacks, replaces, packs.
#include "support/renamed_archive.h"

#include <fstream>
#include <stdexcept>

#include "formats/zip.h"
#include "support/zip_builder.h"

namespace isthmus::test {
namespace {

template <class T>
T value(Expected<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  return *std::move(result);
}

}  // namespace

void write_renamed(const std::filesystem::path& archive, const std::string& from, const std::string& to,
                   const std::filesystem::path& out) {
  Zip zip = value(Zip::open(value(map_file(archive.string()))));
  std::vector<ZipItem> items;
  for (const ZipEntry& entry : zip.entries()) {
    const Blob bytes = value(zip.read(entry));
    std::string text(reinterpret_cast<const char*>(bytes.bytes().data()), bytes.size());
    const bool is_text = entry.name.ends_with(".json");
    for (std::size_t at = text.find(from); is_text && at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
    items.push_back({.name = entry.name, .data = std::move(text)});
  }
  std::ofstream(out, std::ios::binary) << build_zip(items);
}

}  // namespace isthmus::test
