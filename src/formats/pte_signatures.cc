// The table of signatures.
#include "formats/pte_signatures.h"

#include <algorithm>

#include "formats/pte_types.h"

namespace isthmus::pte {
namespace {

// Sorted by name.
constexpr Signature kSignatures[] = {
    {"aten::_adaptive_avg_pool2d.out", "tI"},
    {"aten::_log_softmax.out", "tib"},
    {"aten::_native_batch_norm_legit_no_training.out", "toottrr", 3},
    {"aten::_softmax.out", "tib"},
    {"aten::abs.out", "t"},
    {"aten::acos.out", "t"},
    {"aten::acosh.out", "t"},
    {"aten::add.Scalar_out", "tnn"},
    {"aten::add.out", "ttn"},
    {"aten::addmm.out", "tttnn"},
    {"aten::amax.out", "tIb"},
    {"aten::amin.out", "tIb"},
    {"aten::any.dims_out", "tJb"},
    {"aten::arange.start_out", "nnn"},
    {"aten::argmax.out", "tjb"},
    {"aten::argmin.out", "tjb"},
    {"aten::asin.out", "t"},
    {"aten::asinh.out", "t"},
    {"aten::atan.out", "t"},
    {"aten::atan2.out", "tt"},
    {"aten::atanh.out", "t"},
    {"aten::avg_pool2d.out", "tIIIbbj"},
    {"aten::bitwise_and.Tensor_out", "tt"},
    {"aten::bitwise_left_shift.Tensor_out", "tt"},
    {"aten::bitwise_not.out", "t"},
    {"aten::bitwise_or.Tensor_out", "tt"},
    {"aten::bitwise_right_shift.Tensor_out", "tt"},
    {"aten::bitwise_xor.Tensor_out", "tt"},
    {"aten::bmm.out", "tt"},
    {"aten::cat.out", "li"},
    {"aten::ceil.out", "t"},
    {"aten::clamp.out", "tmm"},
    {"aten::clone.out", "tj"},
    {"aten::constant_pad_nd.out", "tIn"},
    {"aten::convolution.out", "ttoIIIbIi"},
    {"aten::copy_", "ttb", 0, true},
    {"aten::cos.out", "t"},
    {"aten::cosh.out", "t"},
    {"aten::cumsum.out", "tif"},
    {"aten::div.out", "tt"},
    {"aten::div.out_mode", "tts"},
    {"aten::elu.out", "tnnn"},
    {"aten::embedding.out", "ttibb"},
    {"aten::eq.Scalar_out", "tn"},
    {"aten::eq.Tensor_out", "tt"},
    {"aten::erf.out", "t"},
    {"aten::exp.out", "t"},
    {"aten::expand_copy.out", "tIb"},
    {"aten::expm1.out", "t"},
    {"aten::flip.out", "tI"},
    {"aten::floor.out", "t"},
    {"aten::floor_divide.out", "tt"},
    {"aten::fmod.Tensor_out", "tt"},
    {"aten::gather.out", "titb"},
    {"aten::ge.Tensor_out", "tt"},
    {"aten::gelu.out", "ts"},
    {"aten::grid_sampler_2d.out", "ttiib"},
    {"aten::gt.Tensor_out", "tt"},
    {"aten::index.Tensor_out", "tq"},
    {"aten::index_select.out", "tit"},
    {"aten::isinf.out", "t"},
    {"aten::isnan.out", "t"},
    {"aten::le.Tensor_out", "tt"},
    {"aten::leaky_relu.out", "tn"},
    {"aten::log.out", "t"},
    {"aten::log10.out", "t"},
    {"aten::log1p.out", "t"},
    {"aten::log2.out", "t"},
    {"aten::logical_and.out", "tt"},
    {"aten::logical_not.out", "t"},
    {"aten::logical_or.out", "tt"},
    {"aten::logical_xor.out", "tt"},
    {"aten::lt.Scalar_out", "tn"},
    {"aten::lt.Tensor_out", "tt"},
    {"aten::masked_fill.Scalar_out", "ttn"},
    {"aten::max_pool2d_with_indices.out", "tIIIIb", 2},
    {"aten::maximum.out", "tt"},
    {"aten::mean.out", "tJbf"},
    {"aten::minimum.out", "tt"},
    {"aten::mm.out", "tt"},
    {"aten::mul.out", "tt"},
    {"aten::native_group_norm.out", "tooiiiir", 3},
    {"aten::native_layer_norm.out", "tIoor", 3},
    {"aten::ne.Tensor_out", "tt"},
    {"aten::neg.out", "t"},
    {"aten::permute_copy.out", "tI"},
    {"aten::pow.Scalar_out", "nt"},
    {"aten::pow.Tensor_Tensor_out", "tt"},
    {"aten::prod.int_out", "tibf"},
    {"aten::reciprocal.out", "t"},
    {"aten::reflection_pad1d.out", "tI"},
    {"aten::reflection_pad2d.out", "tI"},
    {"aten::reflection_pad3d.out", "tI"},
    {"aten::relu.out", "t"},
    {"aten::remainder.Tensor_out", "tt"},
    {"aten::replication_pad1d.out", "tI"},
    {"aten::replication_pad2d.out", "tI"},
    {"aten::replication_pad3d.out", "tI"},
    {"aten::round.out", "t"},
    {"aten::rsqrt.out", "t"},
    {"aten::scatter.src_out", "titt"},
    {"aten::scatter_add.out", "titt"},
    {"aten::select_copy.int_out", "tii"},
    {"aten::sigmoid.out", "t"},
    {"aten::sign.out", "t"},
    {"aten::sin.out", "t"},
    {"aten::sinh.out", "t"},
    {"aten::slice_copy.Tensor_out", "tijji"},
    {"aten::sqrt.out", "t"},
    {"aten::squeeze_copy.dim_out", "ti"},
    {"aten::squeeze_copy.dims_out", "tI"},
    {"aten::sub.out", "ttn"},
    {"aten::sum.IntList_out", "tJbf"},
    {"aten::sym_size.int", "ti", 0},
    {"aten::tan.out", "t"},
    {"aten::tanh.out", "t"},
    {"aten::topk.values", "tiibb", 2},
    {"aten::transpose_copy.int_out", "tii"},
    {"aten::trunc.out", "t"},
    {"aten::unsqueeze_copy.out", "ti"},
    {"aten::upsample_bilinear2d.vec_out", "tJbR"},
    {"aten::upsample_nearest2d.vec_out", "tJR"},
    {"aten::var.correction_out", "tJmb"},
    {"aten::view_copy.out", "tI"},
    {"aten::where.self_out", "ttt"},
    {"dim_order_ops::_clone_dim_order.out", "tbJ"},
    {"dim_order_ops::_to_dim_order_copy.out", "tbJ"},
    {"executorch_prim::add.Scalar", "nn", 0},
    {"executorch_prim::eq.Scalar", "nn", 0},
    {"executorch_prim::et_view.default", "tI", 0},
    {"executorch_prim::floordiv.Scalar", "nn", 0},
    {"executorch_prim::ge.Scalar", "nn", 0},
    {"executorch_prim::gt.Scalar", "nn", 0},
    {"executorch_prim::le.Scalar", "nn", 0},
    {"executorch_prim::lt.Scalar", "nn", 0},
    {"executorch_prim::mul.Scalar", "nn", 0},
    {"executorch_prim::sub.Scalar", "nn", 0},
    {"executorch_prim::sym_max.Scalar", "nn", 0},
    {"executorch_prim::sym_min.Scalar", "nn", 0},
    {"quantized_decomposed::dequantize_per_channel.out", "ttoiiief"},
    {"quantized_decomposed::dequantize_per_tensor.Tensor_out", "tttiief"},
    {"quantized_decomposed::dequantize_per_tensor.out", "triiief"},
    {"quantized_decomposed::quantize_per_channel.out", "tttiiie"},
    {"quantized_decomposed::quantize_per_tensor.Tensor_out", "tttiie"},
    {"quantized_decomposed::quantize_per_tensor.out", "triiie"},
};
static_assert(std::ranges::is_sorted(kSignatures, {}, &Signature::name));

template <class... Alternatives>
bool is(const Value& value) {
  return (std::holds_alternative<Alternatives>(value) || ...);
}

bool is_of(const Value& value, char kind) {
  switch (kind) {
    case 't':
      return is<Tensor>(value);
    case 'o':
      return is<Tensor, None>(value);
    case 'q':
      return is<OptionalTensorList>(value);
    case 'l':
      return is<TensorList>(value);
    case 'n':
      return is<std::int64_t, double, bool>(value);
    case 'm':
      return is<std::int64_t, double, bool, None>(value);
    case 'i':
    case 'e':
      return is<std::int64_t>(value);
    case 'j':
    case 'f':
      return is<std::int64_t, None>(value);
    case 'r':
      return is<double>(value);
    case 'b':
      return is<bool>(value);
    case 's':
      return is<std::string>(value);
    case 'I':
      return is<IntList>(value);
    case 'J':
      return is<IntList, None>(value);
    default:
      return kind == 'R' && is<DoubleList, None>(value);
  }
}

}  // namespace

std::span<const Signature> signatures() { return kSignatures; }

const Signature* find_signature(std::string_view name) {
  const auto found = std::ranges::lower_bound(kSignatures, name, {}, &Signature::name);
  return found == std::end(kSignatures) || found->name != name ? nullptr : found;
}

bool fits(const Signature& signature, const Plan& plan, std::span<const ValueIndex> args) {
  if (args.size() != signature.arity()) return false;
  for (std::size_t i = 0; i < signature.arguments.size(); ++i) {
    if (!is_of(plan.values[args[i]], signature.arguments[i])) return false;
  }
  const auto results = args.subspan(signature.arguments.size());
  if (signature.writes_first) return results[0] == args[0];
  if (signature.outs == 0) return is<std::int64_t, double, bool, Tensor>(plan.values[results[0]]);
  for (std::size_t i = 0; i < signature.outs; ++i) {
    if (!is<Tensor>(plan.values[results[i]])) return false;
  }
  return signature.outs == 1 ? results[0] == results[1] : is<TensorList>(plan.values[results.back()]);
}

std::optional<std::int64_t> number_of(DType dtype) {
  const auto wire = scalar_type_of(dtype);
  if (!wire) return std::nullopt;
  return static_cast<std::int64_t>(*wire);
}

std::optional<DType> dtype_of_number(std::int64_t number) {
  for (const ScalarTypeRow& row : kScalarTypes) {
    if (static_cast<std::int64_t>(row.wire) == number) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace isthmus::pte
