// Attention and linear layers of computed weights by products of two tensors.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/known.h"
#include "transforms/legalize/rewrites.h"

namespace isthmus::rewrites {
namespace {

// With its last two axes exchanged.
Expected<ValueId> turned(Emitter& emitter, ValueId x) {
  Ints axes(emitter.shape(x).size());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return emitter.permute(x, std::move(axes));
}

// What hides a key: finite, so that a query that sees no key has no NaN, and so far below that nothing of it is left.
constexpr double kHidden = -1e30;

bool has_row_of_zeros(std::span<const std::byte> bytes, std::int64_t row) {
  const auto is_zero = [](std::byte seen) { return seen == std::byte{}; };
  for (auto rest = bytes; !rest.empty(); rest = rest.subspan(static_cast<std::size_t>(row))) {
    if (std::ranges::all_of(rest.first(static_cast<std::size_t>(row)), is_zero)) return true;
  }
  return false;
}

// Which keys a query sees, as the scores and the shares take it.
struct Mask {
  std::optional<ValueId> added;  // to the scores
  std::optional<ValueId> seen;   // a bool: shares of other keys are zero. Only where a query may see no key at all.
};

Expected<Mask> mask_of(const Site& site) {
  const ValueId mask = site.inputs[3];
  if (site.graph().type(mask).dtype != DType::kBool) return Mask{mask, std::nullopt};
  Emitter& emitter = site.emitter;
  const TensorView* known = site.constant(3);
  if (known == nullptr) {
    const std::size_t rank = emitter.shape(mask).size();
    const ValueId zero = number(emitter, 0, rank);
    return Mask{TRY(emitter.emit(Op::kWhere, NoAttrs{}, {mask, zero, number(emitter, kHidden, rank)})), mask};
  }
  const Blob bytes = contiguous_bytes(*known);
  std::vector<double> numbers;
  for (const std::byte seen : bytes.bytes()) numbers.push_back(seen != std::byte{} ? 0 : kHidden);
  const bool hides_all = has_row_of_zeros(bytes.bytes(), known->sizes.empty() ? 1 : known->sizes.back());
  return Mask{emitter.floats(numbers, DType::kF32, known->sizes), hides_all ? std::optional(mask) : std::nullopt};
}

}  // namespace

Replacement attention_to_products(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kAttention) return unchanged();
  const auto& attrs = site.attrs<AttentionAttrs>();
  Emitter& emitter = site.emitter;
  const Shape query = emitter.shape(site.inputs[0]);
  const Dim depth = query.back();
  const Dim queries = query[query.size() - 2];
  const Shape key = emitter.shape(site.inputs[1]);
  const Dim keys = key[key.size() - 2];
  if (attrs.scale == 0 && !depth.is_fixed()) return unchanged();
  const double scale = attrs.scale != 0 ? attrs.scale : 1 / std::sqrt(static_cast<double>(depth.value()));
  if (attrs.is_causal && (!queries.is_fixed() || !keys.is_fixed())) return unchanged();

  const Mask mask = site.inputs.size() > 3 ? TRY(mask_of(site)) : Mask{};
  const ValueId scaled = TRY(with_number(emitter, Op::kMul, site.inputs[0], scale));
  ValueId scores = TRY(emitter.binary(Op::kMatmul, scaled, TRY(turned(emitter, site.inputs[1]))));
  if (mask.added) scores = TRY(emitter.binary(Op::kAdd, scores, *mask.added));
  if (attrs.is_causal) {
    std::vector<double> numbers;
    for (std::int64_t i = 0; i < queries.value(); ++i) {
      for (std::int64_t j = 0; j < keys.value(); ++j) {
        numbers.push_back(j > i ? kHidden : 0);
      }
    }
    const ValueId causal = emitter.floats(numbers, DType::kF32, {queries.value(), keys.value()});
    scores = TRY(emitter.binary(Op::kAdd, scores, causal));
  }
  const std::int64_t last = emitter.rank(scores) - 1;
  ValueId shares = TRY(emitter.emit(Op::kSoftmax, AxisAttrs{last}, {scores}));
  if (mask.seen) {
    const ValueId zero = number(emitter, 0, emitter.shape(shares).size());
    shares = TRY(emitter.emit(Op::kWhere, NoAttrs{}, {*mask.seen, shares, zero}));
  }
  return replaced_by(emitter.binary(Op::kMatmul, shares, site.inputs[2]));
}

Replacement linear_to_matmul(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kLinear) return unchanged();
  const bool is_constant = site.constant(1) != nullptr && (site.inputs.size() < 3 || site.constant(2) != nullptr);
  if (is_constant) return unchanged();
  Emitter& emitter = site.emitter;
  if (emitter.rank(site.inputs[0]) < 2) return unchanged();
  const ValueId product = TRY(emitter.binary(Op::kMatmul, site.inputs[0], TRY(turned(emitter, site.inputs[1]))));
  if (site.inputs.size() < 3) return std::optional(product);
  return replaced_by(emitter.binary(Op::kAdd, product, site.inputs[2]));
}

}  // namespace isthmus::rewrites
