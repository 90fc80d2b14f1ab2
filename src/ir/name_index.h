// Which value has a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/ids.h"

namespace isthmus {

// A flat table of hashes and ids: graphs are copied by each rewrite, and a table of nodes with a string each would be
// most of the time of a large one. The names are those that `NameOf` gives for an id; they are not kept here.
class NameIndex {
 public:
  // Nothing where no value has the name.
  template <class NameOf>
  std::optional<ValueId> find(std::string_view name, const NameOf& name_of) const {
    if (slots_.empty()) return std::nullopt;
    const std::uint32_t hash = hash_of(name);
    for (std::size_t at = hash & mask(); slots_[at].id != kEmpty; at = (at + 1) & mask()) {
      if (slots_[at].hash == hash && slots_[at].id != kGone && name_of(ValueId{slots_[at].id}) == name) {
        return ValueId{slots_[at].id};
      }
    }
    return std::nullopt;
  }
  // The name must be new.
  void add(std::string_view name, ValueId id);
  // The name must be there.
  void remove(std::string_view name, ValueId id);
  void reserve(std::size_t names);

 private:
  static constexpr std::uint32_t kEmpty = 0xFFFFFFFF;
  static constexpr std::uint32_t kGone = 0xFFFFFFFE;  // a search goes on behind it
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t id = kEmpty;
  };

  static std::uint32_t hash_of(std::string_view name);
  std::size_t mask() const { return slots_.size() - 1; }
  void resize(std::size_t slots);

  std::vector<Slot> slots_;  // a power of two of them, at most half taken
  std::size_t taken_ = 0;    // kGone counts
};

}  // namespace isthmus
