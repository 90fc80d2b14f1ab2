// A part of the samples: which ones, and the file that it is written to.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/expected.h"

namespace isthmus {

// One of `count` parts, counted from 0.
struct Shard {
  std::uint32_t index = 0;
  std::uint32_t count = 1;
  auto operator<=>(const Shard&) const = default;
};

// From "3/8".
Expected<Shard> read_shard(std::string_view text);
std::string text_of(Shard shard);

// Numbers of samples: `end` is not one of them.
struct SampleRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t count() const { return end - begin; }
  bool operator==(const SampleRange&) const = default;
};

// Ranges of all shards of one count follow each other and differ by at most one step in length; where there are more
// shards than steps some are empty. Each begins at a multiple of `step`, the length of a sequence.
SampleRange range_of(Shard shard, std::uint64_t samples, std::uint64_t step = 1);

// "m.stats" becomes "m.3-of-8.stats".
std::string shard_file(const std::string& path, Shard shard);

}  // namespace isthmus
