// Little-endian numbers and runs of bytes, one after another, from untrusted bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace isthmus {

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Every read gives nothing, and moves nothing, where the bytes do not suffice.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  std::size_t left() const { return bytes_.size() - position_; }

  std::optional<std::span<const std::byte>> take(std::uint64_t count) {
    if (count > left()) return std::nullopt;
    const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += taken.size();
    return taken;
  }

  template <class Unsigned>
  std::optional<Unsigned> number() {
    const auto bytes = take(sizeof(Unsigned));
    if (!bytes) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = sizeof(Unsigned); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>((*bytes)[i]);
    return static_cast<Unsigned>(value);
  }

  // The text up to a line feed, which is read too.
  std::optional<std::string_view> line() {
    const std::string_view rest = text_of(bytes_.subspan(position_));
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    position_ += end + 1;
    return rest.substr(0, end);
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

}  // namespace isthmus
