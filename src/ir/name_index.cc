#include "ir/name_index.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace isthmus {

std::uint32_t NameIndex::hash_of(std::string_view name) {
  return static_cast<std::uint32_t>(XXH3_64bits(name.data(), name.size()));
}

void NameIndex::add(std::string_view name, ValueId id) {
  CHECK(id.index < kGone, "too many values");
  if (2 * (taken_ + 1) > slots_.size()) resize(std::max<std::size_t>(16, 2 * slots_.size()));
  const std::uint32_t hash = hash_of(name);
  std::size_t at = hash & mask();
  while (slots_[at].id != kEmpty) at = (at + 1) & mask();
  slots_[at] = {hash, id.index};
  ++taken_;
}

void NameIndex::remove(std::string_view name, ValueId id) {
  std::size_t at = hash_of(name) & mask();
  while (slots_[at].id != id.index) {
    CHECK(slots_[at].id != kEmpty, "a value that has no name");
    at = (at + 1) & mask();
  }
  slots_[at].id = kGone;
}

void NameIndex::reserve(std::size_t names) {
  const std::size_t slots = std::bit_ceil(2 * (names + 1));
  if (slots > slots_.size()) resize(slots);
}

void NameIndex::resize(std::size_t slots) {
  const std::vector<Slot> former = std::exchange(slots_, std::vector<Slot>(slots));
  taken_ = 0;
  for (const Slot& slot : former) {
    if (slot.id == kEmpty || slot.id == kGone) continue;
    std::size_t at = slot.hash & mask();
    while (slots_[at].id != kEmpty) at = (at + 1) & mask();
    slots_[at] = slot;
    ++taken_;
  }
}

}  // namespace isthmus
