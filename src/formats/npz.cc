// Reads .npz files: lists their arrays by their headers, gives them whole or by rows.
#include "formats/npz.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/untrusted_text.h"

namespace isthmus {
namespace {

constexpr std::string_view kSuffix = ".npy";

// Only the header is read, of compressed entries too.
Expected<NpyHeader> read_header(const Zip& zip, const ZipEntry& entry) {
  ZipStream stream = TRY(zip.stream(entry));
  std::vector<std::byte> bytes(std::min<std::uint64_t>(entry.size, kNpyPrefixBytes));
  TRY(stream.read(bytes));
  const std::uint64_t header_bytes = TRY(npy_header_bytes(bytes));
  if (header_bytes > entry.size) return bad_input("npy: the header is truncated");
  if (header_bytes > bytes.size()) {
    const std::size_t prefix = bytes.size();
    bytes.resize(header_bytes);
    TRY(stream.read(std::span(bytes).subspan(prefix)));
  }
  return read_npy_header(bytes, entry.size);
}

std::uint64_t bytes_of_row(const NpyHeader& header) {
  const auto rows = static_cast<std::uint64_t>(header.shape[0]);
  return rows == 0 ? 0 : header.data_bytes / rows;
}

}  // namespace

Expected<RowReader> RowReader::over(TensorView whole) {
  if (whole.sizes.empty()) return bad_input("a 0-d array has no rows");
  return RowReader(std::move(whole));
}

RowReader::RowReader(TensorView whole) : row_count_(whole.sizes.at(0)), whole_(std::move(whole)) {}

RowReader::RowReader(TensorView whole, ZipChecksum checksum, NpyHeader header)
    : row_count_(header.shape.at(0)),
      whole_(std::move(whole)),
      checksum_(std::move(checksum)),
      header_(std::move(header)),
      row_bytes_(bytes_of_row(header_)) {}

RowReader::RowReader(ZipStream stream, NpyHeader header)
    : row_count_(header.shape.at(0)),
      header_(std::move(header)),
      row_bytes_(bytes_of_row(header_)),
      stream_(std::move(stream)),
      next_row_(-1) {}

Expected<TensorView> RowReader::read(std::int64_t first, std::int64_t count) {
  if (first < 0 || count < 0 || first > row_count_ || count > row_count_ - first) {
    return bad_input(fmt::format("{} rows from row {} of an array with {}", count, first, row_count_));
  }
  if (stream_) return inflate(first, count);
  if (checksum_) TRY(checksum_->advance_to(header_.bytes + static_cast<std::uint64_t>(first + count) * row_bytes_));
  TensorView part = *whole_;
  part.sizes[0] = count;
  // Of an empty tensor the offset does not matter, and need not fit.
  const bool is_empty = std::ranges::find(part.sizes, 0) != part.sizes.end();
  part.offset = is_empty ? 0 : part.offset + first * part.strides[0];
  return part;
}

Expected<TensorView> RowReader::inflate(std::int64_t first, std::int64_t count) {
  if (next_row_ < 0 || first < next_row_) {
    stream_->rewind();
    next_row_ = -1;
    TRY(stream_->skip(header_.bytes));
    next_row_ = 0;
  }
  const std::uint64_t skipped = static_cast<std::uint64_t>(first - next_row_) * row_bytes_;
  std::vector<std::byte> bytes(static_cast<std::size_t>(static_cast<std::uint64_t>(count) * row_bytes_));
  next_row_ = -1;
  TRY(stream_->skip(skipped));
  TRY(stream_->read(bytes));
  next_row_ = first + count;
  std::vector<std::int64_t> sizes = header_.shape;
  sizes[0] = count;
  auto strides = row_major_strides(sizes);
  return make_tensor_view(header_.dtype, std::move(sizes), std::move(strides), 0, Blob::owning(std::move(bytes)));
}

Expected<Npz> Npz::open(Blob file) {
  Npz npz(TRY(Zip::open(std::move(file))));
  for (const ZipEntry& entry : npz.zip_.entries()) {
    const std::string place = fmt::format("array {}", shown(entry.name));
    if (!entry.name.ends_with(kSuffix)) {
      return within(Expected<Npz>(bad_input("expected every entry of an .npz file to be an .npy file")), place);
    }
    NpzArray& array = npz.arrays_.emplace_back();
    array.name = entry.name.substr(0, entry.name.size() - kSuffix.size());
    array.is_compressed = entry.is_compressed;
    auto header = within(read_header(npz.zip_, entry), place);
    if (!header && header.error().kind == ErrorKind::kUnsupported) {
      array.unsupported = std::move(header).error();
      continue;
    }
    if (!header) return tl::unexpected<Error>(std::move(header).error());
    array.dtype = header->dtype;
    array.shape = std::move(header->shape);
    array.is_fortran_order = header->is_fortran_order;
  }
  return npz;
}

const NpzArray* Npz::find(std::string_view name) const {
  const auto found = std::ranges::find(arrays_, name, &NpzArray::name);
  return found == arrays_.end() ? nullptr : &*found;
}

Expected<const ZipEntry*> Npz::entry_of(const NpzArray& array) const {
  if (array.unsupported) return tl::unexpected<Error>(*array.unsupported);
  const ZipEntry* entry = zip_.find(array.name + std::string(kSuffix));
  if (entry == nullptr) return bad_input(fmt::format("no array {}", shown(array.name)));
  return entry;
}

Expected<TensorView> Npz::read(const NpzArray& array) {
  const ZipEntry* entry = TRY(entry_of(array));
  const Blob bytes = TRY(zip_.read(*entry));
  if (!entry->is_compressed) TRY(ZipChecksum(*entry, bytes).advance_to(bytes.size()));
  return within(read_npy(bytes), fmt::format("array {}", shown(array.name)));
}

Expected<RowReader> Npz::rows(const NpzArray& array) {
  const ZipEntry* entry = TRY(entry_of(array));
  const std::string place = fmt::format("array {}", shown(array.name));
  if (array.shape.empty()) return bad_input(place + " has no first axis");
  if (array.is_fortran_order) return RowReader::over(TRY(read(array)));
  NpyHeader header = TRY(within(read_header(zip_, *entry), place));
  if (entry->is_compressed) return RowReader(TRY(zip_.stream(*entry)), std::move(header));
  const Blob bytes = TRY(zip_.read(*entry));
  TensorView whole = TRY(within(read_npy(bytes), place));
  return RowReader(std::move(whole), ZipChecksum(*entry, bytes), std::move(header));
}

}  // namespace isthmus
