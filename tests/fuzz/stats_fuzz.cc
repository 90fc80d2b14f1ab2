// Reads arbitrary bytes as a .stats file; what is accepted is written again and merged with itself.
#include "fuzz/flatbuffer_mutator.h"
#include "stats/stats_file.h"

namespace {

void require(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const isthmus::Blob file(std::as_bytes(std::span(data, size)), nullptr);
  auto statistics = isthmus::read_stats(file);
  if (!statistics) {
    require(!statistics.error().text().empty());
    return 0;
  }
  require(isthmus::is_stats_file(file));
  const auto bytes = isthmus::write_stats(*statistics);
  const auto again = isthmus::read_stats(isthmus::Blob(bytes, nullptr));
  require(again.has_value() && isthmus::write_stats(*again) == bytes);
  (void)statistics->merge(*again);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  return isthmus::fuzz::mutate_flatbuffer(data, size, max, seed);
}
