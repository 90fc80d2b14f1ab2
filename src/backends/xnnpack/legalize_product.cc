// Attention and linear layers of computed weights by products of two tensors.
#include <cmath>
#include <limits>
#include <numeric>

#include "backends/xnnpack/legalize.h"
#include "simplify/weights.h"

namespace isthmus::xnnpack {
namespace {

// With its last two axes exchanged.
Expected<ValueId> turned(Emitter& emitter, ValueId x) {
  Ints axes(emitter.shape(x).size());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return emitter.permute(x, std::move(axes));
}

// What is added to the scores: nothing where a key is seen, minus infinity where it is hidden.
std::optional<ValueId> added_mask(const Site& site) {
  const TensorView* mask = site.constant(3);
  if (mask == nullptr) {
    return site.graph().type(site.inputs[3]).dtype == DType::kF32 ? std::optional(site.inputs[3]) : std::nullopt;
  }
  if (mask->dtype != DType::kBool) return site.inputs[3];
  const Blob bytes = contiguous_bytes(*mask);
  std::vector<double> numbers;
  for (const std::byte seen : bytes.bytes()) {
    numbers.push_back(seen != std::byte{} ? 0 : -std::numeric_limits<double>::infinity());
  }
  return constant_of(site.emitter, numbers, DType::kF32, mask->sizes);
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
  std::optional<ValueId> mask;
  if (site.inputs.size() > 3) {
    mask = added_mask(site);
    if (!mask) return unchanged();
  }
  if (attrs.is_causal && (!queries.is_fixed() || !keys.is_fixed())) return unchanged();

  const ValueId scaled = TRY(with_number(emitter, Op::kMul, site.inputs[0], scale));
  ValueId scores = TRY(emitter.binary(Op::kMatmul, scaled, TRY(turned(emitter, site.inputs[1]))));
  if (mask) scores = TRY(emitter.binary(Op::kAdd, scores, *mask));
  if (attrs.is_causal) {
    std::vector<double> numbers;
    for (std::int64_t i = 0; i < queries.value(); ++i) {
      for (std::int64_t j = 0; j < keys.value(); ++j) {
        numbers.push_back(j > i ? -std::numeric_limits<double>::infinity() : 0);
      }
    }
    const ValueId causal = constant_of(emitter, numbers, DType::kF32, {queries.value(), keys.value()});
    scores = TRY(emitter.binary(Op::kAdd, scores, causal));
  }
  const std::int64_t last = emitter.rank(scores) - 1;
  const ValueId shares = TRY(emitter.emit(Op::kSoftmax, AxisAttrs{last}, {scores}));
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

}  // namespace isthmus::xnnpack
