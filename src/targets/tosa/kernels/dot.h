// Dot products of 16-bit integers, by the widest vectors that the machine has. Numbers of 8 bits are widened first,
// with their zero point taken off, so that one kernel serves all products.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus::tosa {

// Rows of the left matrix come in this many at a time; memory behind the last one must be readable.
inline constexpr std::size_t kRowsAtOnce = 4;

// Columns of the right matrix that lie together, on this machine.
std::size_t panel_width();

// How the right matrix of `depth` rows is packed: panel by panel, in each two rows at a time, column by column.
struct PackedShape {
  std::size_t depth = 0;
  std::size_t columns = 0;
  std::size_t width = panel_width();

  std::size_t pairs() const { return (depth + 1) / 2; }
  std::size_t panels() const { return (columns + width - 1) / width; }
  std::size_t padded_columns() const { return panels() * width; }
  std::size_t numbers() const { return panels() * pairs() * width * 2; }
};

// element(row, column) of the right matrix.
template <class Element>
void pack(const PackedShape& shape, std::int16_t* to, Element element) {
  for (std::size_t panel = 0; panel < shape.panels(); ++panel) {
    for (std::size_t pair = 0; pair < shape.pairs(); ++pair) {
      for (std::size_t c = panel * shape.width; c < (panel + 1) * shape.width; ++c) {
        for (std::size_t row = 2 * pair; row < 2 * pair + 2; ++row) {
          *to++ = c < shape.columns && row < shape.depth ? element(row, c) : std::int16_t{0};
        }
      }
    }
  }
}

// Rows of the left matrix, `stride` numbers apart, which is an even number; a row of odd depth ends with a 0.
struct LeftRows {
  const std::int16_t* data = nullptr;
  std::size_t stride = 0;
  std::size_t count = 0;
};

// out = left * right + bias, in 32 bits that wrap around. The bias has as many numbers as there are padded columns.
void multiply(const LeftRows& left, const PackedShape& shape, const std::int16_t* right, const std::int32_t* bias,
              std::int32_t* out, std::size_t out_stride);

// out += left * right, where the numbers of the right matrix have 8 bits: from -128 to 128.
void multiply_add(const LeftRows& left, const PackedShape& shape, const std::int16_t* right, std::int64_t* out,
                  std::size_t out_stride);

// to[i] = from[i] - zero
void widen(const std::int8_t* from, std::size_t count, std::int32_t zero, std::int16_t* to);
// The same, for kernels that are templates; numbers of 16 bits have no zero point.
void widen(const std::int16_t* from, std::size_t count, std::int32_t zero, std::int16_t* to);

// A row of the output of a depthwise convolution. Pixels are `channels` numbers, a multiple of `depthwise_lanes()`.
struct DepthwiseRow {
  const std::int16_t* image = nullptr;  // the first pixel that the first output needs
  std::int64_t step = 0;                // numbers from what one output needs to what the next one does
  const std::int64_t* taps = nullptr;   // numbers from the first pixel to that of each weight
  std::size_t tap_count = 0;
  const std::int32_t* weights = nullptr;  // [tap][channel]
  const std::int32_t* bias = nullptr;     // [channel]
  std::size_t channels = 0;
  std::size_t out_channels = 0;  // those that count
  std::size_t out_count = 0;
};
std::size_t depthwise_lanes();
void depthwise_row(const DepthwiseRow& row, std::int32_t* out);

}  // namespace isthmus::tosa
