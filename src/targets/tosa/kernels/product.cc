// Products of matrices.
#include <algorithm>

#include "targets/tosa/arithmetic.h"
#include "targets/tosa/kernels/dot.h"
#include "targets/tosa/parallel.h"
#include "targets/tosa/rules.h"
#include "targets/tosa/tiles.h"

namespace isthmus::tosa {
namespace {

Expected<void> check_mat_mul(const Site& site) {
  const Operand& a = site.inputs[0];
  const Operand& b = site.inputs[1];
  TRY(want_rank(a, "the left matrix", 3));
  TRY(want_rank(b, "the right matrix", 3));
  TRY(want_sizes(b, "the right matrix", {a.size(0), a.size(2), b.size(2)}));
  TRY(want_sizes(site.output, "the output", {a.size(0), a.size(1), b.size(2)}));
  TRY(want_zero_point(site.inputs[2], "the zero point of the left matrix"));
  return want_zero_point(site.inputs[3], "the zero point of the right matrix");
}
std::uint64_t mat_mul_work(const Site& site) {
  return static_cast<std::uint64_t>(site.output.count) * static_cast<std::uint64_t>(site.inputs[0].size(2));
}

// Output[batch, height, width] from this depth.
struct Product {
  std::int64_t batch, height, depth, width;
  std::int64_t left_zero, right_zero;
};
Product product_of(const Site& site) {
  return {site.output.size(0), site.output.size(1),  site.inputs[0].size(2),
          site.output.size(2), site.inputs[2].at(0), site.inputs[3].at(0)};
}

template <class In, class Out>
Kernel plain_product(const SharedSite& site) {
  return {[p = product_of(*site)](const Call& call) -> Expected<void> {
    const In* a = call.input<In>(0);
    const In* b = call.input<In>(1);
    Out* out = call.result<Out>();
    for (std::int64_t n = 0; n < p.batch; ++n) {
      for (std::int64_t h = 0; h < p.height; ++h) {
        for (std::int64_t w = 0; w < p.width; ++w) {
          std::int64_t sum = 0;
          for (std::int64_t k = 0; k < p.depth; ++k) {
            sum += (a[(n * p.height + h) * p.depth + k] - p.left_zero) *
                   (b[(n * p.depth + k) * p.width + w] - p.right_zero);
          }
          *out++ = from_sum<Out>(sum);
        }
      }
    }
    return {};
  }};
}
Expected<Kernel> plain_mat_mul(const SharedSite& site, Resources&) {
  if (site->inputs[0].type == Type::kI8) return plain_product<std::int8_t, std::int32_t>(site);
  return plain_product<std::int16_t, std::int64_t>(site);
}

// Numbers of 16 bits as 256 * high + low, where both fit the kernel for numbers of 8 bits.
std::int16_t low_of(std::int16_t number) { return static_cast<std::int8_t>(number & 0xFF); }
std::int16_t high_of(std::int16_t number) { return static_cast<std::int16_t>((number - low_of(number)) / 256); }

Expected<Kernel> fast_mat_mul(const SharedSite& site, Resources& resources) {
  const Product p = product_of(*site);
  const PackedShape shape{static_cast<std::size_t>(p.depth), static_cast<std::size_t>(p.width)};
  const Tiles tiles(shape.depth, p.height, resources.parts);
  const bool is_wide = site->inputs[0].type == Type::kI16;
  Scratch scratch;
  const std::size_t high = scratch.add<std::int16_t>(shape.numbers());
  const std::size_t low = scratch.add<std::int16_t>(is_wide ? shape.numbers() : 0);
  const std::size_t zeros = scratch.add<std::int32_t>(shape.padded_columns());
  const std::size_t left = scratch.add<std::int16_t>(tiles.numbers());
  const std::size_t parts = resources.parts;
  const auto run = [=](const Call& call) -> Expected<void> {
    auto* packed = scratch.at<std::int16_t>(call, high);
    auto* packed_low = scratch.at<std::int16_t>(call, low);
    auto* bias = scratch.at<std::int32_t>(call, zeros);
    std::fill_n(bias, shape.padded_columns(), 0);
    const auto width = static_cast<std::size_t>(p.width);
    for (std::int64_t n = 0; n < p.batch; ++n) {
      if (is_wide) {
        const std::int16_t* b = call.input<std::int16_t>(1) + n * p.depth * p.width;
        pack(shape, packed, [&](std::size_t k, std::size_t c) { return high_of(b[k * width + c]); });
        pack(shape, packed_low, [&](std::size_t k, std::size_t c) { return low_of(b[k * width + c]); });
      } else {
        const std::int8_t* b = call.input<std::int8_t>(1) + n * p.depth * p.width;
        pack(shape, packed,
             [&](std::size_t k, std::size_t c) { return static_cast<std::int16_t>(b[k * width + c] - p.right_zero); });
      }
      in_parts(call.threads, parts, tiles.count(), [&](std::size_t part, std::int64_t begin, std::int64_t end) {
        std::int16_t* rows = scratch.at<std::int16_t>(call, left) + part * tiles.numbers_of_one();
        for (std::int64_t tile = begin; tile < end; ++tile) {
          const std::int64_t first = tile * tiles.rows();
          const std::int64_t count = std::min(tiles.rows(), p.height - first);
          const std::int64_t place = n * p.height + first;
          for (std::int64_t r = 0; r < count; ++r) {
            std::int16_t* row = rows + static_cast<std::size_t>(r) * tiles.stride();
            if (is_wide) {
              widen(call.input<std::int16_t>(0) + (place + r) * p.depth, shape.depth, 0, row);
            } else {
              widen(call.input<std::int8_t>(0) + (place + r) * p.depth, shape.depth,
                    static_cast<std::int32_t>(p.left_zero), row);
            }
            if (tiles.stride() != shape.depth) row[shape.depth] = 0;
          }
          const LeftRows block{rows, tiles.stride(), static_cast<std::size_t>(count)};
          if (!is_wide) {
            multiply(block, shape, packed, bias, call.result<std::int32_t>() + place * p.width, width);
            continue;
          }
          std::int64_t* out = call.result<std::int64_t>() + place * p.width;
          std::fill_n(out, count * p.width, std::int64_t{0});
          multiply_add(block, shape, packed, out, width);
          for (std::int64_t i = 0; i < count * p.width; ++i) out[i] *= 256;
          multiply_add(block, shape, packed_low, out, width);
          for (std::int64_t i = 0; i < count * p.width; ++i) out[i] = wrapped_48(out[i]);
        }
      });
    }
    return {};
  };
  return Kernel{run, scratch.bytes()};
}

constexpr Rule kProductRules[] = {
    {.op = Op::kMatMul,
     .types = "i8 =0 =0 =0 > i32 | i16 =0 =0 =0 > i48",
     .check = check_mat_mul,
     .plain = plain_mat_mul,
     .fast = fast_mat_mul,
     .work = mat_mul_work,
     .counts_products = true},
};

}  // namespace

std::span<const Rule> product_rules() { return kProductRules; }

}  // namespace isthmus::tosa
