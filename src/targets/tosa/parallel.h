// Work in parts, on threads that the caller owns.
#pragma once

#include <pthreadpool.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace isthmus::tosa {

// Calls work(part, begin, end) for ranges that make up [0, count), at the same time where there are threads. There are
// at most `parts` of them, numbered from 0. Threads without work sleep: they may not be the only ones on the machine.
template <class Work>
void in_parts(pthreadpool* threads, std::size_t parts, std::int64_t count, const Work& work) {
  const auto used =
      threads == nullptr ? std::int64_t{1} : std::min<std::int64_t>(static_cast<std::int64_t>(parts), count);
  if (used <= 1) {
    work(std::size_t{0}, std::int64_t{0}, count);
    return;
  }
  struct Context {
    const Work& work;
    std::int64_t count;
    std::int64_t used;
  } context{work, count, used};
  pthreadpool_parallelize_1d(
      threads,
      [](void* given, std::size_t part) {
        const auto& c = *static_cast<const Context*>(given);
        const auto p = static_cast<std::int64_t>(part);
        c.work(part, c.count * p / c.used, c.count * (p + 1) / c.used);
      },
      &context, static_cast<std::size_t>(used), PTHREADPOOL_FLAG_YIELD_WORKERS);
}

}  // namespace isthmus::tosa
