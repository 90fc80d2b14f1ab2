// Memory of kernels that multiply matrices: what a call needs besides its operands.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "targets/tosa/kernel.h"
#include "targets/tosa/kernels/dot.h"

namespace isthmus::tosa {

// Parts of a call's scratch memory.
class Scratch {
 public:
  // Storage of this many numbers.
  template <class Number>
  std::size_t add(std::size_t count) {
    const std::size_t place = static_cast<std::size_t>(bytes_);
    bytes_ += (std::uint64_t{count} * sizeof(Number) + kAlignment - 1) / kAlignment * kAlignment;
    return place;
  }
  template <class Number>
  static Number* at(const Call& call, std::size_t place) {
    return reinterpret_cast<Number*>(call.scratch + place);
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  static constexpr std::uint64_t kAlignment = 64;
  std::uint64_t bytes_ = 0;
};

// The rows of a left matrix in blocks that stay in the cache, one block for each part of the work.
class Tiles {
 public:
  Tiles(std::size_t depth, std::int64_t all_rows, std::size_t parts)
      : stride_((depth + 1) / 2 * 2), all_rows_(all_rows), parts_(parts) {
    constexpr std::size_t kBytes = 128 << 10;
    constexpr std::size_t kMaxRows = 64;
    const std::size_t fitting = kBytes / (stride_ * sizeof(std::int16_t)) / kRowsAtOnce * kRowsAtOnce;
    rows_ = static_cast<std::int64_t>(std::clamp(fitting, kRowsAtOnce, kMaxRows));
  }

  std::size_t stride() const { return stride_; }
  std::int64_t rows() const { return rows_; }  // of a block
  std::int64_t count() const { return (all_rows_ + rows_ - 1) / rows_; }
  std::size_t numbers_of_one() const { return static_cast<std::size_t>(rows_) * stride_; }
  std::size_t numbers() const { return parts_ * numbers_of_one(); }

 private:
  std::size_t stride_;
  std::int64_t all_rows_;
  std::size_t parts_;
  std::int64_t rows_ = 0;
};

}  // namespace isthmus::tosa
