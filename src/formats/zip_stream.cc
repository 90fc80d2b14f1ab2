// Inflates the entries of a zip archive, within a budget, and tests checksums.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/untrusted_text.h"
#include "formats/zip.h"

namespace isthmus {
namespace {

constexpr std::uint64_t kFreeBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kBytesPerFileByte = 64;
// zlib counts in 32 bits.
constexpr std::size_t kMaxPerCall = std::size_t{1} << 30;

std::uint32_t continued_checksum(std::uint32_t checksum, std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(::crc32_z(checksum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

Expected<void> check_checksum(const std::string& name, std::uint32_t found, std::uint32_t expected) {
  if (found == expected) return {};
  return bad_input(fmt::format("zip entry {}: its checksum is {:08x}, expected {:08x}", shown(name), found, expected));
}

}  // namespace

ZipChecksum::ZipChecksum(const ZipEntry& entry, Blob bytes)
    : name_(entry.name), bytes_(std::move(bytes)), expected_(entry.crc32) {}

Expected<void> ZipChecksum::advance_to(std::uint64_t end) {
  CHECK(end <= bytes_.size(), "bytes behind the end of an entry were read");
  if (end > done_) {
    found_ = continued_checksum(found_, bytes_.bytes().subspan(done_, end - done_));
    done_ = end;
  }
  if (done_ < bytes_.size()) return {};
  return check_checksum(name_, found_, expected_);
}

InflateBudget::InflateBudget(std::uint64_t file_bytes) {
  const auto scaled = multiply_sizes(file_bytes, kBytesPerFileByte);
  const auto limit = scaled ? add_sizes(*scaled, kFreeBytes) : std::nullopt;
  limit_ = limit.value_or(std::numeric_limits<std::uint64_t>::max());
}

Expected<void> InflateBudget::take(std::uint64_t bytes) {
  if (bytes > limit_ - taken_) {
    return bad_input(
        fmt::format("inflating {} more bytes after {} would exceed the {} that this file may inflate to "
                    "(256 MiB + 64 times its size)",
                    bytes, taken_, limit_));
  }
  taken_ += bytes;
  return {};
}

struct ZipStream::Inflater {
  z_stream state{};
  bool is_ready = false;
  bool has_ended = false;
  std::size_t fed = 0;
  std::uint32_t checksum = 0;

  Inflater() { is_ready = ::inflateInit2(&state, -MAX_WBITS) == Z_OK; }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (is_ready) ::inflateEnd(&state);
  }

  // Inflates until `out` is full or the data end; the number of bytes written, nothing if the data are broken.
  std::optional<std::size_t> fill(std::span<const std::byte> packed, std::span<std::byte> out) {
    std::size_t written = 0;
    while (is_ready && !has_ended && written < out.size()) {
      const std::size_t offered = std::min(packed.size() - fed, kMaxPerCall);
      const std::size_t wanted = std::min(out.size() - written, kMaxPerCall);
      state.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + fed));
      state.avail_in = static_cast<uInt>(offered);
      state.next_out = reinterpret_cast<Bytef*>(out.data() + written);
      state.avail_out = static_cast<uInt>(wanted);
      const int result = ::inflate(&state, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END) return std::nullopt;
      has_ended = result == Z_STREAM_END;
      fed += offered - state.avail_in;
      written += wanted - state.avail_out;
    }
    if (!is_ready) return std::nullopt;
    return written;
  }
};

ZipStream::ZipStream(const ZipEntry& entry, Blob packed)
    : name_(entry.name),
      packed_(std::move(packed)),
      size_(entry.size),
      left_(entry.size),
      expected_crc32_(entry.crc32) {
  if (entry.is_compressed) inflater_ = std::make_unique<Inflater>();
}
ZipStream::ZipStream(ZipStream&&) noexcept = default;
ZipStream& ZipStream::operator=(ZipStream&&) noexcept = default;
ZipStream::~ZipStream() = default;

Expected<void> ZipStream::read(std::span<std::byte> out) {
  if (out.size() > left_) {
    return bad_input(fmt::format("zip entry {}: {} bytes are needed, {} are left", shown(name_), out.size(), left_));
  }
  if (out.empty()) return {};
  if (inflater_) {
    TRY(inflate_into(out));
  } else {
    std::memcpy(out.data(), packed_.bytes().data() + (packed_.size() - left_), out.size());
  }
  left_ -= out.size();
  if (left_ == 0) return finish();
  return {};
}

Expected<void> ZipStream::skip(std::uint64_t count) {
  if (!inflater_ && count <= left_) {
    left_ -= count;
    return {};
  }
  std::array<std::byte, 16384> discarded;
  while (count > 0) {
    const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(count, discarded.size()));
    TRY(read(std::span(discarded).first(step)));
    count -= step;
  }
  return {};
}

void ZipStream::rewind() {
  left_ = size_;
  if (inflater_) inflater_ = std::make_unique<Inflater>();
}

Expected<void> ZipStream::inflate_into(std::span<std::byte> out) {
  const auto written = inflater_->fill(packed_.bytes(), out);
  if (!written) return bad_input(fmt::format("zip entry {}: its compressed data are damaged", shown(name_)));
  if (*written < out.size()) {
    return bad_input(fmt::format("zip entry {}: it inflates to {} bytes less than its directory says", shown(name_),
                                 left_ - *written));
  }
  inflater_->checksum = continued_checksum(inflater_->checksum, out);
  return {};
}

Expected<void> ZipStream::finish() {
  if (!inflater_) return {};
  std::array<std::byte, 1> surplus;
  const auto written = inflater_->fill(packed_.bytes(), surplus);
  if (!written) return bad_input(fmt::format("zip entry {}: its compressed data are damaged", shown(name_)));
  if (*written != 0) {
    return bad_input(fmt::format("zip entry {}: it inflates to more bytes than its directory says", shown(name_)));
  }
  return check_checksum(name_, inflater_->checksum, expected_crc32_);
}

}  // namespace isthmus
