// Mutations that follow the structure of a flatbuffer, whatever its schema: fields, counts of vectors, references and
// the tables that say which fields there are. Changes of bytes anywhere hardly ever meet one of these.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "fuzz/number_mutator.h"

namespace isthmus::fuzz {

// What the bytes may be, found without a schema: a reference is whatever leads to something that can be a table or a
// vector.
class FlatbufferStructure {
 public:
  struct Place {
    std::size_t at = 0;
    std::size_t width = 0;
  };

  explicit FlatbufferStructure(std::span<const std::uint8_t> bytes) : bytes_(bytes) {
    std::size_t root = 0;
    if (follow(0, root)) visit_table(root, 0);
  }

  std::vector<Place> fields;            // numbers in tables, and elements of vectors
  std::vector<std::size_t> references;  // where an offset stands
  std::vector<std::size_t> targets;     // where one leads
  std::vector<std::size_t> counts;      // of vectors
  std::vector<std::size_t> slots;       // of vtables: where in the table a field lies, or 0

 private:
  static constexpr std::size_t kMaxTables = 2000;
  static constexpr std::size_t kMaxDepth = 64;
  static constexpr std::size_t kMaxElements = 64;  // of each vector
  static constexpr std::size_t kMaxSlots = 128;

  template <class Number>
  bool read(std::size_t at, Number& number) const {
    if (at > bytes_.size() || bytes_.size() - at < sizeof(Number)) return false;
    std::memcpy(&number, bytes_.data() + at, sizeof(Number));
    return true;
  }
  bool follow(std::size_t at, std::size_t& target) const {
    std::uint32_t offset = 0;
    if (!read(at, offset) || offset == 0 || offset >= bytes_.size() - at) return false;
    target = at + offset;
    return true;
  }
  bool vtable_of(std::size_t table, std::size_t& vtable, std::size_t& slot_count) const {
    std::int32_t back = 0;
    std::uint16_t size = 0, table_size = 0;
    if (table % 4 != 0 || !read(table, back)) return false;
    const std::int64_t at = static_cast<std::int64_t>(table) - back;
    if (at < 0 || at % 2 != 0) return false;
    vtable = static_cast<std::size_t>(at);
    if (!read(vtable, size) || !read(vtable + 2, table_size)) return false;
    if (size < 4 || size % 2 != 0 || size > 4 + 2 * kMaxSlots || vtable + size > bytes_.size()) return false;
    if (table_size < 4 || table + table_size > bytes_.size()) return false;
    slot_count = (size - 4u) / 2;
    return true;
  }

  bool visit_table(std::size_t table, std::size_t depth) {
    std::size_t vtable = 0, slot_count = 0;
    if (!vtable_of(table, vtable, slot_count)) return false;
    if (depth > kMaxDepth || seen_.size() > kMaxTables || !seen_.insert(table).second) return true;
    std::uint16_t table_size = 0;
    read(vtable + 2, table_size);
    std::vector<std::size_t> starts{table_size};
    for (std::size_t i = 0; i < slot_count; ++i) {
      const std::size_t slot = vtable + 4 + 2 * i;
      slots.push_back(slot);
      std::uint16_t start = 0;
      read(slot, start);
      if (start >= 4 && start < table_size) starts.push_back(start);
    }
    std::ranges::sort(starts);
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      const std::size_t width = std::min<std::size_t>(starts[i + 1] - starts[i], 8);
      visit_field({table + starts[i], width == 8 ? 8 : width >= 4 ? 4 : width >= 2 ? std::size_t{2} : 1}, depth);
    }
    return true;
  }
  // A place of 4 bytes or more is a reference where it leads to what can be one.
  void visit_field(Place place, std::size_t depth) {
    std::size_t target = 0;
    if (place.width >= 4 && follow(place.at, target) && visit_target(target, depth)) {
      references.push_back(place.at);
      targets.push_back(target);
    } else {
      fields.push_back(place);
    }
  }
  bool visit_target(std::size_t target, std::size_t depth) {
    if (visit_table(target, depth + 1)) return true;
    std::uint32_t count = 0;
    if (target % 4 != 0 || !read(target, count) || count > bytes_.size() - target - 4) return false;
    if (!seen_.insert(target).second) return true;
    counts.push_back(target);
    const std::size_t room = (bytes_.size() - target - 4) / 4;
    const std::size_t shown = std::min({static_cast<std::size_t>(count), room, kMaxElements});
    for (std::size_t i = 0; i < shown; ++i) visit_field({target + 4 + 4 * i, 4}, depth + 1);
    return true;
  }

  std::span<const std::uint8_t> bytes_;
  std::set<std::size_t> seen_;
};

// A third each: what libFuzzer would do, numbers anywhere, and the structure.
inline std::size_t mutate_flatbuffer(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  std::minstd_rand random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  if (below(3) != 0) return mutate_numbers(data, size, max, seed / 3);
  const FlatbufferStructure found({data, size});
  const auto write = [&]<class Number>(std::size_t at, Number number) {
    std::memcpy(data + at, &number, sizeof(number));
  };
  const auto read = [&]<class Number>(std::size_t at, Number& number) {
    std::memcpy(&number, data + at, sizeof(number));
  };
  for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
    switch (below(5)) {
      case 0:
        if (!found.references.empty()) {  // another table or vector, of whatever kind
          const std::size_t at = found.references[below(found.references.size())];
          const std::size_t target = found.targets[below(found.targets.size())];
          if (target > at) write(at, static_cast<std::uint32_t>(target - at));
        }
        break;
      case 1:
        if (!found.counts.empty()) {
          const std::size_t at = found.counts[below(found.counts.size())];
          std::uint32_t count = 0;
          read(at, count);
          const std::uint32_t others[] = {count + 1, count - 1, 0, 1, count / 2, count * 2};
          write(at, others[below(std::size(others))]);
        }
        break;
      case 2:
        if (!found.slots.empty()) {  // the field is not there, or is what another one is
          const std::size_t at = found.slots[below(found.slots.size())];
          std::uint16_t other = 0;
          if (below(2) == 0) read(found.slots[below(found.slots.size())], other);
          write(at, other);
        }
        break;
      default:
        if (!found.fields.empty()) {
          const auto [at, width] = found.fields[below(found.fields.size())];
          std::uint64_t number = 0;
          std::memcpy(&number, data + at, width);
          number = changed_number(number, width, below);
          if (below(4) == 0) {
            const auto& other = found.fields[below(found.fields.size())];
            std::memcpy(&number, data + other.at, std::min(width, other.width));
          }
          std::memcpy(data + at, &number, width);
        }
        break;
    }
  }
  return size;
}

}  // namespace isthmus::fuzz
