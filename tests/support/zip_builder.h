// Zip archives for tests: honest ones, and ones whose records lie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace isthmus::test {

struct ZipItem {
  std::string name = {};
  std::string data = {};
  bool is_deflated = false;
  bool has_zip64 = false;  // sizes and offset in the extra field
  // What the records say where it is not the truth:
  std::uint16_t flags = 0;
  std::optional<std::uint16_t> method = {};
  std::optional<std::uint32_t> crc32 = {}, size = {}, packed_size = {}, header_offset = {};
  std::optional<std::string> local_name = {};
  std::string local_extra = {};
};

struct ZipEnd {
  bool has_zip64 = false;
  std::string comment = {};
  std::optional<std::uint16_t> entry_count = {};
  std::optional<std::uint64_t> zip64_entry_count = {};
  std::optional<std::uint32_t> directory_size = {}, directory_offset = {};
};

std::string build_zip(const std::vector<ZipItem>& items, const ZipEnd& end = {});

Blob blob_of(std::string_view text);

}  // namespace isthmus::test
