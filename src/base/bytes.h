// Read-only bytes with an owner, and arithmetic on sizes that come from files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/block.h"
#include "base/expected.h"

namespace isthmus {

// What the tensors of one run may take unless the caller says otherwise: more is a broken or hostile file.
inline constexpr std::uint64_t kMaxRunBytes = std::uint64_t{1} << 36;

// A range of immutable bytes and whatever keeps them alive: a file mapping, a buffer. Copying it copies no bytes.
class Blob {
 public:
  Blob() = default;
  Blob(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) : bytes_(bytes), owner_(std::move(owner)) {}

  static Blob owning(std::vector<std::byte> bytes);
  static Blob owning_block(LargeBytes bytes);

  std::span<const std::byte> bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

  // A part of it that shares the owner; nothing if the part does not lie inside.
  std::optional<Blob> part(std::uint64_t offset, std::uint64_t size) const;

 private:
  template <class Bytes>
  static Blob owned(Bytes bytes);

  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

// Maps a regular file read-only. Pages are read when touched; the mapping lives as long as any Blob made from it.
Expected<Blob> map_file(const std::string& path);

// Writes a temporary file beside `path` and renames it there: an existing file survives any failure.
Expected<void> write_file(const std::string& path, std::span<const std::byte> bytes);

// Sum and product of sizes; nothing if they do not fit.
inline std::optional<std::uint64_t> add_sizes(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}
inline std::optional<std::uint64_t> multiply_sizes(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

}  // namespace isthmus
