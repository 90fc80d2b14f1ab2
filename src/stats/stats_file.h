// The .stats file.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "stats/statistics.h"

namespace isthmus {

// Counts up whenever statistics of an older version mean something else.
inline constexpr std::uint32_t kStatsVersion = 2;

// Whether a file claims to be one.
bool is_stats_file(const Blob& file);

// Equal statistics give equal bytes.
std::vector<std::byte> write_stats(const Statistics& statistics);

// Verifies everything.
Expected<Statistics> read_stats(const Blob& file);

}  // namespace isthmus
