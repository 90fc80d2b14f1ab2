// Reads arbitrary bytes as an .npy file, or as an .npz file if they look like a zip.
#include "formats/npy.h"
#include "formats/npz.h"
#include "fuzz/zip_mutator.h"

namespace {

constexpr std::int64_t kMaxElements = 4096;

// What was read must come out of writing and reading again as it was.
void check_round_trip(const isthmus::TensorView& tensor) {
  if (tensor.element_count() > kMaxElements) return;
  auto bytes = isthmus::write_npy(tensor);
  if (!bytes) __builtin_trap();
  const auto again = isthmus::read_npy(isthmus::Blob::owning(*std::move(bytes)));
  if (!again || again->sizes != tensor.sizes || again->dtype != tensor.dtype) __builtin_trap();
  if (isthmus::contiguous_bytes(*again).text() != isthmus::contiguous_bytes(tensor).text()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const isthmus::Blob file(std::as_bytes(std::span(data, size)), nullptr);
  if (!file.text().starts_with("PK")) {
    const auto tensor = isthmus::read_npy(file);
    if (tensor) check_round_trip(*tensor);
    return 0;
  }
  auto npz = isthmus::Npz::open(file);
  if (!npz) return 0;
  for (const isthmus::NpzArray& array : npz->arrays()) {
    const auto whole = npz->read(array);
    if (whole) check_round_trip(*whole);
    auto rows = npz->rows(array);
    if (!rows) continue;
    for (std::int64_t row = 0; row < std::min<std::int64_t>(rows->row_count(), 8); row += 2) (void)rows->read(row, 1);
    (void)rows->read(0, rows->row_count());
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  return isthmus::fuzz::mutate(data, size, max, seed);
}
