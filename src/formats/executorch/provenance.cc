// Lines of "key = value", then the configuration.
#include "formats/executorch/provenance.h"

#include <algorithm>
#include <string_view>

namespace isthmus::pte {
namespace {

constexpr std::string_view kKey = "isthmus.provenance";
constexpr std::string_view kConfig = "[config]\n";
constexpr std::string_view kEquals = " = ";

}  // namespace

NamedData named(const Provenance& provenance) {
  std::string text;
  for (const auto& [key, value] : provenance.facts) text.append(key).append(kEquals).append(value).append("\n");
  if (!provenance.config.empty()) text.append(kConfig).append(provenance.config);
  const auto bytes = std::as_bytes(std::span(text));
  return {std::string(kKey), Blob::owning({bytes.begin(), bytes.end()})};
}

std::optional<Provenance> find_provenance(const Program& program) {
  const auto found = std::ranges::find(program.named_data, kKey, &NamedData::key);
  if (found == program.named_data.end()) return std::nullopt;
  Provenance result;
  std::string_view text = found->bytes.text();
  while (!text.empty()) {
    if (text.starts_with(kConfig)) {
      result.config = text.substr(kConfig.size());
      break;
    }
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t at = line.find(kEquals);
    if (at != std::string_view::npos) result.facts.emplace_back(line.substr(0, at), line.substr(at + kEquals.size()));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

}  // namespace isthmus::pte
