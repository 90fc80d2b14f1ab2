// Host ops that are products: matrices, linear layers, convolutions.
#include <fmt/format.h>

#include "lower/host_ops.h"

namespace isthmus {
namespace {

// All axes but the last `kept` ones become one.
Shape flattened(Exprs& exprs, const Shape& shape, std::size_t kept) {
  const std::size_t merged = shape.size() - kept;
  Shape result{exprs.product(std::span(shape).first(merged))};
  result.insert(result.end(), shape.begin() + static_cast<std::ptrdiff_t>(merged), shape.end());
  return result;
}

// A factor of a product of matrices with the batch of the result, as one axis of it.
Expected<pte::ValueIndex> batched(HostNode& node, std::size_t input, const Shape& batch) {
  TensorType type = node.type(input);
  pte::ValueIndex value = TRY(node.input(input));
  Shape full = batch;
  full.insert(full.end(), type.shape.end() - 2, type.shape.end());
  if (type.shape != full) {
    value =
        TRY(node.step("aten::expand_copy.out", {value, TRY(node.sizes(full)), node.truth(false)}, {type.dtype, full}));
    type.shape = full;
  }
  return node.reshaped(value, type, flattened(node.exprs(), full, 2));
}

Expected<void> write_matmul(HostNode& node) {
  const TensorType& result = node.result_type();
  if (node.type(0).rank() == 2 && node.type(1).rank() == 2) {
    return node.finish("aten::mm.out", {TRY(node.input(0)), TRY(node.input(1))});
  }
  const Shape batch(result.shape.begin(), result.shape.end() - 2);
  const pte::ValueIndex a = TRY(batched(node, 0, batch));
  const pte::ValueIndex b = TRY(batched(node, 1, batch));
  if (result.rank() == 3) return node.finish("aten::bmm.out", {a, b});
  const TensorType flat{result.dtype, flattened(node.exprs(), result.shape, 2)};
  const pte::ValueIndex product = TRY(node.step("aten::bmm.out", {a, b}, flat));
  return node.finish("aten::view_copy.out", {product, TRY(node.view_sizes(result.shape))});
}

Expected<void> write_linear(HostNode& node) {
  const TensorType& input = node.type(0);
  const TensorType& weight = node.type(1);
  const TensorType& result = node.result_type();
  const bool has_bias = node.input_count() > 2;
  const pte::ValueIndex rows = TRY(node.reshaped(TRY(node.input(0)), input, flattened(node.exprs(), input.shape, 1)));
  const pte::ValueIndex columns = TRY(node.step("aten::permute_copy.out", {TRY(node.input(1)), node.integers({1, 0})},
                                                {weight.dtype, {weight.shape[1], weight.shape[0]}}));
  const std::string_view kernel = has_bias ? "aten::addmm.out" : "aten::mm.out";
  std::vector<pte::ValueIndex> args{rows, columns};
  if (has_bias) args = {TRY(node.input(2)), rows, columns, node.integer(1), node.integer(1)};
  if (result.rank() == 2) return node.finish(kernel, std::move(args));
  const TensorType flat{result.dtype, flattened(node.exprs(), result.shape, 1)};
  const pte::ValueIndex product = TRY(node.step(kernel, std::move(args), flat));
  return node.finish("aten::view_copy.out", {product, TRY(node.view_sizes(result.shape))});
}

// The kernel pads both sides of an axis alike: what is left is padded before.
Expected<void> write_conv(HostNode& node) {
  const ConvAttrs& attrs = node.as<ConvAttrs>();
  TensorType type = node.type(0);
  pte::ValueIndex input = TRY(node.input(0));
  Ints padding;
  Ints before_it;  // the last axis first
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t both = std::min(attrs.padding[2 * i], attrs.padding[2 * i + 1]);
    const Ints rest{attrs.padding[2 * i] - both, attrs.padding[2 * i + 1] - both};
    padding.push_back(both);
    before_it.insert(before_it.begin(), rest.begin(), rest.end());
    type.shape[i + 2] = node.exprs().add(type.shape[i + 2], rest[0] + rest[1]);
  }
  if (type != node.type(0)) {
    input = TRY(
        node.step("aten::constant_pad_nd.out", {input, node.integers(before_it), node.number(0, type.dtype)}, type));
  }
  return node.finish({input, TRY(node.input(1)), TRY(node.input(2)), node.integers(attrs.stride),
                      node.integers(padding), node.integers(attrs.dilation), node.truth(false), node.integers({0, 0}),
                      node.integer(attrs.groups)});
}

// The kernel cuts both sides of an axis alike, and adds to the end.
Expected<void> write_conv_transpose(HostNode& node) {
  const ConvTransposeAttrs& attrs = node.as<ConvTransposeAttrs>();
  Ints padding;
  Ints added;
  for (std::size_t i = 0; i < 2; ++i) {
    padding.push_back(attrs.padding[2 * i]);
    added.push_back(attrs.padding[2 * i] - attrs.padding[2 * i + 1]);
    const bool is_added = added[i] >= 0 && (added[i] < attrs.stride[i] || added[i] < attrs.dilation[i]);
    if (padding[i] < 0 || !is_added) {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("ExecuTorch's kernel cannot cut {} before and {} after an axis of stride {}",
                              attrs.padding[2 * i], attrs.padding[2 * i + 1], attrs.stride[i]));
    }
  }
  return node.finish({TRY(node.input(0)), TRY(node.input(1)), TRY(node.input(2)), node.integers(attrs.stride),
                      node.integers(padding), node.integers(attrs.dilation), node.truth(true), node.integers(added),
                      node.integer(attrs.groups)});
}

constexpr HostOp kProductOps[] = {
    {.op = Op::kMatmul, .kernel = "", .write = write_matmul, .types = HostTypes::kNoBool, .widens = true},
    {.op = Op::kLinear, .kernel = "", .write = write_linear, .types = HostTypes::kNoBool, .widens = true},
    {.op = Op::kConv2d,
     .kernel = "aten::convolution.out",
     .write = write_conv,
     .types = HostTypes::kNoBool,
     .widens = true},
    {.op = Op::kConvTranspose2d,
     .kernel = "aten::convolution.out",
     .write = write_conv_transpose,
     .types = HostTypes::kNoBool,
     .widens = true},
};

}  // namespace

std::span<const HostOp> host_product_ops() { return kProductOps; }

}  // namespace isthmus
