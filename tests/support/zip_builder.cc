// Writes zip archives byte by byte.
#include "support/zip_builder.h"

#include <zlib.h>

#include <cstring>

namespace isthmus::test {
namespace {

template <class Unsigned>
void put(std::string& out, Unsigned value) {
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i)
    out += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
}

std::string deflated(const std::string& data) {
  z_stream state{};
  deflateInit2(&state, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&state, static_cast<uLong>(data.size())), '\0');
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  state.avail_in = static_cast<uInt>(data.size());
  state.next_out = reinterpret_cast<Bytef*>(out.data());
  state.avail_out = static_cast<uInt>(out.size());
  deflate(&state, Z_FINISH);
  out.resize(out.size() - state.avail_out);
  deflateEnd(&state);
  return out;
}

std::uint32_t checksum(const std::string& data) {
  return static_cast<std::uint32_t>(
      crc32(crc32(0, nullptr, 0), reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())));
}

}  // namespace

std::string build_zip(const std::vector<ZipItem>& items, const ZipEnd& end) {
  std::string out, directory;
  for (const ZipItem& item : items) {
    const std::string packed = item.is_deflated ? deflated(item.data) : item.data;
    const std::string local_name = item.local_name.value_or(item.name);
    const std::uint16_t method = item.method.value_or(item.is_deflated ? 8 : 0);
    const std::uint32_t crc = item.crc32.value_or(checksum(item.data));
    const auto size = item.size.value_or(static_cast<std::uint32_t>(item.data.size()));
    const auto packed_size = item.packed_size.value_or(static_cast<std::uint32_t>(packed.size()));
    const auto offset = item.header_offset.value_or(static_cast<std::uint32_t>(out.size()));
    std::string extra;
    if (item.has_zip64) {
      put<std::uint16_t>(extra, 1);
      put<std::uint16_t>(extra, 24);
      put<std::uint64_t>(extra, size);
      put<std::uint64_t>(extra, packed_size);
      put<std::uint64_t>(extra, offset);
    }
    constexpr std::uint32_t kElsewhere = 0xFFFFFFFF;
    put<std::uint32_t>(directory, 0x02014b50);
    put<std::uint32_t>(directory, 0);  // versions
    put<std::uint16_t>(directory, item.flags);
    put<std::uint16_t>(directory, method);
    put<std::uint32_t>(directory, 0);  // time
    put<std::uint32_t>(directory, crc);
    put<std::uint32_t>(directory, item.has_zip64 ? kElsewhere : packed_size);
    put<std::uint32_t>(directory, item.has_zip64 ? kElsewhere : size);
    put<std::uint16_t>(directory, static_cast<std::uint16_t>(item.name.size()));
    put<std::uint16_t>(directory, static_cast<std::uint16_t>(extra.size()));
    put<std::uint64_t>(directory, 0);  // comment, disk, attributes
    put<std::uint16_t>(directory, 0);
    put<std::uint32_t>(directory, item.has_zip64 ? kElsewhere : offset);
    directory += item.name + extra;

    // No sizes and no checksum here, as in the archives of PyTorch.
    put<std::uint32_t>(out, 0x04034b50);
    put<std::uint16_t>(out, 0);
    put<std::uint16_t>(out, item.flags);
    put<std::uint16_t>(out, method);
    put<std::uint64_t>(out, 0);
    put<std::uint64_t>(out, 0);
    put<std::uint16_t>(out, static_cast<std::uint16_t>(local_name.size()));
    put<std::uint16_t>(out, static_cast<std::uint16_t>(item.local_extra.size()));
    out += local_name + item.local_extra + packed;
  }
  const auto directory_offset = end.directory_offset.value_or(static_cast<std::uint32_t>(out.size()));
  const auto directory_size = end.directory_size.value_or(static_cast<std::uint32_t>(directory.size()));
  const auto count = end.entry_count.value_or(static_cast<std::uint16_t>(items.size()));
  out += directory;
  if (end.has_zip64) {
    const std::uint64_t zip64_count = end.zip64_entry_count.value_or(items.size());
    const std::uint64_t zip64_offset = out.size();
    put<std::uint32_t>(out, 0x06064b50);
    put<std::uint64_t>(out, 44);
    put<std::uint32_t>(out, 0);  // versions
    put<std::uint64_t>(out, 0);  // disks
    put<std::uint64_t>(out, zip64_count);
    put<std::uint64_t>(out, zip64_count);
    put<std::uint64_t>(out, directory_size);
    put<std::uint64_t>(out, directory_offset);
    put<std::uint32_t>(out, 0x07064b50);
    put<std::uint32_t>(out, 0);
    put<std::uint64_t>(out, zip64_offset);
    put<std::uint32_t>(out, 1);
  }
  put<std::uint32_t>(out, 0x06054b50);
  put<std::uint32_t>(out, 0);
  put<std::uint16_t>(out, count);
  put<std::uint16_t>(out, count);
  put<std::uint32_t>(out, directory_size);
  put<std::uint32_t>(out, directory_offset);
  put<std::uint16_t>(out, static_cast<std::uint16_t>(end.comment.size()));
  return out + end.comment;
}

Blob blob_of(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return Blob::owning(std::move(bytes));
}

}  // namespace isthmus::test
