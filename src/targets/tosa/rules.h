// What TOSA 1.0 demands of the operands of each integer operator, and what computes it: one row an operator, a file a
// family.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "targets/tosa/kernel.h"
#include "targets/tosa/site.h"

namespace isthmus::tosa {

// Level 8K.
inline constexpr std::size_t kMaxRank = 6;
inline constexpr std::int64_t kMaxKernel = 8192;
inline constexpr std::int64_t kMaxStride = 8192;
inline constexpr std::int64_t kMaxScale = 256;
inline constexpr std::size_t kMaxListed = 64;
inline constexpr std::int64_t kMaxElements = (std::int64_t{1} << 31) - 1;

struct Rule {
  Op op;
  // The legal types, alternatives apart by "|", of the inputs and, behind ">", of the output. "i8/i16" is one of them,
  // "=0" the type of operand 0, "*" any number of inputs like the first.
  std::string_view types;
  Expected<void> (*check)(const Site& site);  // shapes, attributes, constants; types are legal already
  Prepare plain;                              // says what the operator means
  Prepare fast = nullptr;                     // computes the same; null: the plain one is fast enough
  // Steps of a computation in the worst case, where they are not as many as elements.
  std::uint64_t (*work)(const Site& site) = nullptr;
  bool counts_products = false;  // those steps are multiplications that are summed up
  bool is_view = false;          // the elements of its input, in their order: nothing is computed
};

std::span<const Rule> conv_rules();
std::span<const Rule> elementwise_rules();
std::span<const Rule> image_rules();
std::span<const Rule> index_rules();
std::span<const Rule> movement_rules();
std::span<const Rule> product_rules();
std::span<const Rule> reduce_rules();
std::span<const Rule> scale_rules();
std::span<const Rule> unary_rules();

// Null for constants and for operators that are not computed.
const Rule* find_rule(Op op);

// Types, level and the operator's own rules. Fails with a sentence that names the operand, and kUnsupported where there
// is no rule for the operator.
Expected<void> check(const Site& site);
// Of every operator of a graph that `verify` accepts.
Expected<void> check(const Graph& graph);

// Multiplications of convolutions and matrices in a graph that `check` accepts.
std::uint64_t count_products(const Graph& graph);

// "i32[1,4,4,8]"
std::string text_of(const Operand& operand);

// Pieces of rules. `what` is the operand in the words of the standard.
Expected<void> want_rank(const Operand& operand, std::string_view what, std::size_t rank);
Expected<void> want_sizes(const Operand& operand, std::string_view what, const std::vector<std::int64_t>& sizes);
Expected<void> want_constant(const Operand& operand, std::string_view what);
// A constant of one element that is 0 unless the type is i8.
Expected<void> want_zero_point(const Operand& operand, std::string_view what);
Expected<void> want_numbers(std::span<const std::int32_t> numbers, std::string_view what, std::size_t count,
                            std::int64_t min, std::int64_t max);
Expected<void> want_axis(std::int64_t axis, const Operand& operand);
// (extent / stride) + 1, which must come out even and be the size that the output has along the axis.
Expected<void> want_steps(const Operand& output, std::size_t axis, std::int64_t extent, std::int64_t stride);

}  // namespace isthmus::tosa
