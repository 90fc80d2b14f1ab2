// A reader of zip archives. Stored entries are found in place: reading one copies nothing and touches none of its
// bytes. Sizes come from the central directory, as the archives of PyTorch have none in their local headers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"

namespace isthmus {

// How many bytes the entries of one file may inflate to in all, those of nested archives included.
class InflateBudget {
 public:
  explicit InflateBudget(std::uint64_t file_bytes);
  Expected<void> take(std::uint64_t bytes);

 private:
  std::uint64_t limit_;
  std::uint64_t taken_ = 0;
};

struct ZipEntry {
  std::string name;  // UTF-8; unique
  std::uint64_t size = 0;
  std::uint64_t packed_size = 0;  // of its bytes in the file
  std::uint64_t header_offset = 0;
  std::uint64_t end_limit = 0;  // where the next local header or the directory begins
  std::uint32_t crc32 = 0;
  bool is_compressed = false;
};

// The checksum of an entry that lies in the file as it is, for those who read all of its bytes anyway.
class ZipChecksum {
 public:
  // `bytes` are those that `Zip::read` gave for it.
  ZipChecksum(const ZipEntry& entry, Blob bytes);

  // Takes the bytes before `end` into account; each is read once. Fails if all are and the directory says otherwise.
  Expected<void> advance_to(std::uint64_t end);

 private:
  std::string name_;
  Blob bytes_;
  std::uint64_t done_ = 0;
  std::uint32_t expected_ = 0;
  std::uint32_t found_ = 0;
};

// The bytes of one entry from first to last, without holding them all. The checksum of a compressed entry is tested
// when its last byte is read; stored entries are not tested, or opening a model would read all of its weights.
class ZipStream {
 public:
  ZipStream(ZipStream&&) noexcept;
  ZipStream& operator=(ZipStream&&) noexcept;
  ~ZipStream();

  std::uint64_t left() const { return left_; }
  // The next bytes; fails if fewer are left. After a failure only `rewind` makes sense.
  Expected<void> read(std::span<std::byte> out);
  Expected<void> skip(std::uint64_t count);
  // Back to the first byte, also after a failure.
  void rewind();

 private:
  friend class Zip;
  struct Inflater;
  ZipStream(const ZipEntry& entry, Blob packed);
  Expected<void> inflate_into(std::span<std::byte> out);
  Expected<void> finish();

  std::string name_;
  Blob packed_;
  std::uint64_t size_ = 0;
  std::uint64_t left_ = 0;
  std::uint32_t expected_crc32_ = 0;
  std::unique_ptr<Inflater> inflater_;  // of a compressed entry
};

class Zip {
 public:
  // Reads and checks the central directory. Refuses encrypted entries, compression other than deflate, duplicate
  // names, and entries that overlap or lie outside. Without a budget of its own it gets one by the file's size.
  static Expected<Zip> open(Blob file, std::shared_ptr<InflateBudget> budget = nullptr);

  const std::vector<ZipEntry>& entries() const { return entries_; }  // in the directory's order
  const ZipEntry* find(std::string_view name) const;                 // null if there is none
  const std::shared_ptr<InflateBudget>& budget() const { return budget_; }

  // The entry's bytes: a part of the file if stored, else inflated on the first call and kept. Unaligned if the
  // writer of the file did not align them.
  Expected<Blob> read(const ZipEntry& entry);
  // Not bounded by the budget, as nothing is kept.
  Expected<ZipStream> stream(const ZipEntry& entry) const;

 private:
  Zip(Blob file, std::shared_ptr<InflateBudget> budget) : file_(std::move(file)), budget_(std::move(budget)) {}
  Expected<void> read_directory();
  Expected<void> index_names();
  Expected<void> check_overlaps(std::uint64_t directory_offset);
  Expected<Blob> packed_bytes(const ZipEntry& entry) const;

  Blob file_;
  std::shared_ptr<InflateBudget> budget_;
  std::vector<ZipEntry> entries_;
  std::vector<std::uint32_t> by_name_;      // indices of entries_, ordered by name
  std::map<std::uint64_t, Blob> inflated_;  // by header_offset
};

}  // namespace isthmus
