// Reads the central directory of a zip archive and finds its entries in place.
#include "formats/zip.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/untrusted_text.h"
#include "formats/byte_reader.h"

namespace isthmus {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kDirectoryHeader = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kZip64End = 0x06064b50;
constexpr std::uint32_t kZip64Locator = 0x07064b50;
constexpr std::uint64_t kLocalHeaderBytes = 30;
constexpr std::uint64_t kDirectoryHeaderBytes = 46;
constexpr std::uint64_t kEndBytes = 22;
constexpr std::uint64_t kZip64EndBytes = 56;
constexpr std::uint64_t kZip64LocatorBytes = 20;
constexpr std::uint64_t kMaxNameBytes = 4096;
constexpr std::uint64_t kMaxEntries = std::uint64_t{1} << 24;
constexpr std::uint32_t kIn64 = 0xFFFFFFFF;
constexpr std::uint16_t kIn64Short = 0xFFFF;
// Deflate's best case: 258 bytes from two bits.
constexpr std::uint64_t kMaxInflation = 1032;

// What the end records say of the central directory.
struct DirectoryPlace {
  std::uint64_t entry_count;
  std::uint64_t size;
  std::uint64_t offset;
};

template <class... Fields>
bool read_into(ByteReader& reader, Fields&... fields) {
  const auto one = [&reader](auto& field) {
    const auto value = reader.number<std::remove_reference_t<decltype(field)>>();
    if (value) field = *value;
    return value.has_value();
  };
  return (one(fields) && ...);
}

struct EndRecord {
  std::uint32_t signature = 0;
  std::uint16_t disk = 0, directory_disk = 0, entries_here = 0, entries = 0;
  std::uint32_t size = 0, offset = 0;
  std::uint16_t comment_bytes = 0;

  static std::optional<EndRecord> read(std::span<const std::byte> bytes) {
    ByteReader reader(bytes);
    EndRecord r;
    if (!read_into(reader, r.signature, r.disk, r.directory_disk, r.entries_here, r.entries, r.size, r.offset,
                   r.comment_bytes)) {
      return std::nullopt;
    }
    return r;
  }
};

struct Zip64EndRecord {
  std::uint32_t signature = 0;
  std::uint64_t record_bytes = 0;
  std::uint16_t made_by = 0, needed = 0;
  std::uint32_t disk = 0, directory_disk = 0;
  std::uint64_t entries_here = 0, entries = 0, size = 0, offset = 0;

  static std::optional<Zip64EndRecord> read(std::span<const std::byte> bytes) {
    ByteReader reader(bytes);
    Zip64EndRecord r;
    if (!read_into(reader, r.signature, r.record_bytes, r.made_by, r.needed, r.disk, r.directory_disk, r.entries_here,
                   r.entries, r.size, r.offset)) {
      return std::nullopt;
    }
    return r;
  }
};

// The last record whose comment reaches to the very end of the file.
std::optional<std::uint64_t> find_end(std::span<const std::byte> file) {
  if (file.size() < kEndBytes) return std::nullopt;
  constexpr std::uint64_t kMaxCommentBytes = 0xFFFF;
  const std::uint64_t last = file.size() - kEndBytes;
  const std::uint64_t first = last > kMaxCommentBytes ? last - kMaxCommentBytes : 0;
  for (std::uint64_t at = last + 1; at-- > first;) {
    if (file[at] != std::byte{'P'}) continue;
    const auto record = EndRecord::read(file.subspan(at, kEndBytes));
    if (record && record->signature == kEnd && record->comment_bytes == last - at) return at;
  }
  return std::nullopt;
}

// Where the zip64 locator before the classic end record points; nothing if there is no locator.
Expected<std::optional<std::uint64_t>> find_zip64_end(std::span<const std::byte> file, std::uint64_t end) {
  if (end < kZip64LocatorBytes) return std::nullopt;
  ByteReader reader(file.subspan(end - kZip64LocatorBytes, kZip64LocatorBytes));
  std::uint32_t signature = 0, disk = 0, disks = 0;
  std::uint64_t offset = 0;
  if (!read_into(reader, signature, disk, offset, disks) || signature != kZip64Locator) return std::nullopt;
  const std::uint64_t locator = end - kZip64LocatorBytes;
  if (disk != 0 || disks > 1) return bad_input("zip archives of several disks are not supported");
  if (offset > locator || locator - offset < kZip64EndBytes) {
    return bad_input(fmt::format("zip: the zip64 end record at {} lies outside of the file", offset));
  }
  return offset;
}

Expected<DirectoryPlace> find_directory(std::span<const std::byte> file) {
  const auto end_offset = find_end(file);
  if (!end_offset) {
    return bad_input("not a zip archive, or a truncated one: it has no end of central directory record");
  }
  const EndRecord end = *EndRecord::read(file.subspan(*end_offset, kEndBytes));
  DirectoryPlace place{end.entries, end.size, end.offset};
  std::uint64_t limit = *end_offset;
  if (const auto zip64_offset = TRY(find_zip64_end(file, *end_offset))) {
    const auto zip64 = Zip64EndRecord::read(file.subspan(*zip64_offset, kZip64EndBytes));
    if (!zip64 || zip64->signature != kZip64End) {
      return bad_input(fmt::format("zip: no zip64 end record at {}, where its locator points", *zip64_offset));
    }
    const bool agrees = (end.entries == kIn64Short || end.entries == zip64->entries) &&
                        (end.size == kIn64 || end.size == zip64->size) &&
                        (end.offset == kIn64 || end.offset == zip64->offset);
    if (!agrees) return bad_input("zip: the classic and the zip64 end record contradict each other");
    if (zip64->disk != 0 || zip64->directory_disk != 0 || zip64->entries_here != zip64->entries) {
      return bad_input("zip archives of several disks are not supported");
    }
    place = {zip64->entries, zip64->size, zip64->offset};
    limit = *zip64_offset;
  } else if (end.disk != 0 || end.directory_disk != 0 || end.entries_here != end.entries) {
    return bad_input("zip archives of several disks are not supported");
  }
  if (place.offset > limit || place.size > limit - place.offset) {
    return bad_input(
        fmt::format("zip: the central directory of {} bytes at {} does not fit before its end record at {}", place.size,
                    place.offset, limit));
  }
  if (place.entry_count > kMaxEntries || place.entry_count > place.size / kDirectoryHeaderBytes) {
    return bad_input(
        fmt::format("zip: {} entries cannot be in a central directory of {} bytes", place.entry_count, place.size));
  }
  return place;
}

// Fills in the sizes and the offset that did not fit 32 bits.
Expected<void> apply_zip64(ZipEntry& entry, std::span<const std::byte> extra, bool needs_size, bool needs_packed,
                           bool needs_offset) {
  if (!needs_size && !needs_packed && !needs_offset) return {};
  ByteReader fields(extra);
  while (fields.left() > 0) {
    std::uint16_t id = 0, size = 0;
    if (!read_into(fields, id, size)) break;
    const auto body = fields.take(size);
    if (!body) break;
    if (id != 1) continue;
    ByteReader reader(*body);
    if ((needs_size && !read_into(reader, entry.size)) || (needs_packed && !read_into(reader, entry.packed_size)) ||
        (needs_offset && !read_into(reader, entry.header_offset))) {
      break;
    }
    return {};
  }
  return bad_input(fmt::format("zip entry {}: its zip64 sizes are missing or truncated", shown(entry.name)));
}

Expected<ZipEntry> read_entry(ByteReader& directory) {
  std::uint32_t signature = 0, crc32 = 0, packed_size = 0, size = 0, external = 0, offset = 0;
  std::uint16_t made_by = 0, needed = 0, flags = 0, method = 0, time = 0, date = 0, name_bytes = 0, extra_bytes = 0,
                comment_bytes = 0, disk = 0, internal = 0;
  if (!read_into(directory, signature, made_by, needed, flags, method, time, date, crc32, packed_size, size, name_bytes,
                 extra_bytes, comment_bytes, disk, internal, external, offset) ||
      signature != kDirectoryHeader) {
    return bad_input("expected a header of the central directory");
  }
  const auto name = directory.take(name_bytes);
  const auto extra = name ? directory.take(extra_bytes) : std::nullopt;
  if (!extra || !directory.take(comment_bytes)) return bad_input("the header reaches past the central directory");
  if (name_bytes == 0 || name_bytes > kMaxNameBytes) {
    return bad_input(fmt::format("a name of {} bytes; 1 to {} are supported", name_bytes, kMaxNameBytes));
  }
  ZipEntry entry{std::string(text_of(*name)), size, packed_size, offset, 0, crc32, method != 0};
  const auto refuse = [&entry](std::string_view why) {
    return bad_input(fmt::format("zip entry {}: {}", shown(entry.name), why));
  };
  if (!is_utf8(entry.name) || entry.name.find('\0') != std::string::npos) return refuse("its name is not UTF-8 text");
  constexpr std::uint16_t kEncrypted = 1u << 0 | 1u << 6 | 1u << 13;
  if ((flags & kEncrypted) != 0) return refuse("it is encrypted");
  if (method != 0 && method != 8) {
    return refuse(fmt::format("compression method {} is not supported; 0 (stored) and 8 (deflate) are", method));
  }
  TRY(apply_zip64(entry, *extra, size == kIn64, packed_size == kIn64, offset == kIn64));
  if (!entry.is_compressed && entry.packed_size != entry.size) {
    return refuse(fmt::format("stored, but its sizes differ: {} and {}", entry.packed_size, entry.size));
  }
  if (entry.is_compressed && entry.size / kMaxInflation > entry.packed_size) {
    return refuse(fmt::format("{} compressed bytes cannot expand to {}", entry.packed_size, entry.size));
  }
  return entry;
}

}  // namespace

Expected<Zip> Zip::open(Blob file, std::shared_ptr<InflateBudget> budget) {
  if (!budget) budget = std::make_shared<InflateBudget>(file.size());
  Zip zip(std::move(file), std::move(budget));
  TRY(zip.read_directory());
  return zip;
}

Expected<void> Zip::read_directory() {
  const DirectoryPlace place = TRY(find_directory(file_.bytes()));
  ByteReader directory(file_.bytes().subspan(place.offset, place.size));
  entries_.reserve(place.entry_count);
  for (std::uint64_t i = 0; i < place.entry_count; ++i) {
    entries_.push_back(
        TRY(within(read_entry(directory), [&] { return fmt::format("entry {} of the zip's directory", i); })));
  }
  if (directory.left() != 0) {
    return bad_input(fmt::format("zip: the central directory has {} extra bytes after its {} entries", directory.left(),
                                 place.entry_count));
  }
  TRY(index_names());
  return check_overlaps(place.offset);
}

Expected<void> Zip::index_names() {
  by_name_.resize(entries_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  const auto name_of_entry = [this](std::uint32_t index) -> const std::string& { return entries_[index].name; };
  std::ranges::sort(by_name_, {}, name_of_entry);
  const auto twice = std::ranges::adjacent_find(by_name_, {}, name_of_entry);
  if (twice != by_name_.end()) return bad_input(fmt::format("zip entry {} occurs twice", shown(name_of_entry(*twice))));
  return {};
}

Expected<void> Zip::check_overlaps(std::uint64_t directory_offset) {
  std::vector<std::uint32_t> by_offset(entries_.size());
  std::iota(by_offset.begin(), by_offset.end(), 0u);
  std::ranges::sort(by_offset, {}, [this](std::uint32_t index) { return entries_[index].header_offset; });
  std::uint64_t limit = directory_offset;
  for (std::size_t i = by_offset.size(); i-- > 0;) {
    ZipEntry& entry = entries_[by_offset[i]];
    const std::uint64_t header = kLocalHeaderBytes + entry.name.size();
    if (entry.header_offset > limit || limit - entry.header_offset < header ||
        limit - entry.header_offset - header < entry.packed_size) {
      return bad_input(fmt::format("zip entry {}: its {} bytes at {} overlap the data at {}", shown(entry.name),
                                   entry.packed_size, entry.header_offset, limit));
    }
    entry.end_limit = limit;
    limit = entry.header_offset;
  }
  return {};
}

const ZipEntry* Zip::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(
      by_name_, name, {}, [this](std::uint32_t index) { return std::string_view(entries_[index].name); });
  if (found == by_name_.end() || entries_[*found].name != name) return nullptr;
  return &entries_[*found];
}

Expected<Blob> Zip::packed_bytes(const ZipEntry& entry) const {
  ByteReader reader(file_.bytes().subspan(entry.header_offset, entry.end_limit - entry.header_offset));
  std::uint32_t signature = 0, crc32 = 0, packed_size = 0, size = 0;
  std::uint16_t needed = 0, flags = 0, method = 0, time = 0, date = 0, name_bytes = 0, extra_bytes = 0;
  const bool is_header = read_into(reader, signature, needed, flags, method, time, date, crc32, packed_size, size,
                                   name_bytes, extra_bytes) &&
                         signature == kLocalHeader;
  const auto name = is_header ? reader.take(name_bytes) : std::nullopt;
  if (!name || text_of(*name) != entry.name) {
    return bad_input(fmt::format("zip entry {}: no local header at {}", shown(entry.name), entry.header_offset));
  }
  const auto data =
      reader.take(extra_bytes) ? file_.part(entry.header_offset + reader.position(), entry.packed_size) : std::nullopt;
  if (!data || reader.left() < entry.packed_size) {
    return bad_input(fmt::format("zip entry {}: its {} bytes overlap the data at {}", shown(entry.name),
                                 entry.packed_size, entry.end_limit));
  }
  return *data;
}

Expected<Blob> Zip::read(const ZipEntry& entry) {
  if (!entry.is_compressed) return packed_bytes(entry);
  if (const auto known = inflated_.find(entry.header_offset); known != inflated_.end()) return known->second;
  TRY(within(budget_->take(entry.size), fmt::format("zip entry {}", shown(entry.name))));
  ZipStream source = TRY(stream(entry));
  std::vector<std::byte> bytes(entry.size);
  TRY(source.read(bytes));
  return inflated_[entry.header_offset] = Blob::owning(std::move(bytes));
}

Expected<ZipStream> Zip::stream(const ZipEntry& entry) const {
  ZipStream opened(entry, TRY(packed_bytes(entry)));
  if (opened.left() == 0) TRY(opened.finish());
  return opened;
}

}  // namespace isthmus
