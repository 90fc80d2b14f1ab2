// Kernels that are products: matrices, linear layers, convolutions.
#include <fmt/format.h>

#include "targets/host/family.h"

namespace isthmus::host {
namespace {

// All axes but the last `kept` ones become one.
Shape flattened(Exprs& exprs, const Shape& shape, std::size_t kept) {
  const std::size_t merged = shape.size() - kept;
  Shape result{exprs.product(std::span(shape).first(merged))};
  result.insert(result.end(), shape.begin() + static_cast<std::ptrdiff_t>(merged), shape.end());
  return result;
}

// A factor of a product of matrices with the batch of the result, as one axis of it.
Expected<pte::ValueIndex> batched(NodeWriter& node, std::size_t input, const Shape& batch) {
  TensorType type = node.type(input);
  pte::ValueIndex value = TRY(node.input(input));
  Shape full = batch;
  full.insert(full.end(), type.shape.end() - 2, type.shape.end());
  if (type.shape != full) {
    value = TRY(node.step(names::kExpand, {value, TRY(node.sizes(full)), node.boolean(false)}, {type.dtype, full}));
    type.shape = full;
  }
  return node.reshaped(value, type, flattened(node.exprs(), full, 2));
}

Expected<void> write_matmul(NodeWriter& node) {
  const TensorType& result = node.result_type();
  if (node.type(0).rank() == 2 && node.type(1).rank() == 2) {
    return node.finish(names::kMm, {TRY(node.input(0)), TRY(node.input(1))});
  }
  const Shape batch(result.shape.begin(), result.shape.end() - 2);
  const pte::ValueIndex a = TRY(batched(node, 0, batch));
  const pte::ValueIndex b = TRY(batched(node, 1, batch));
  if (result.rank() == 3) return node.finish(names::kBmm, {a, b});
  const TensorType flat{result.dtype, flattened(node.exprs(), result.shape, 2)};
  const pte::ValueIndex product = TRY(node.step(names::kBmm, {a, b}, flat));
  return node.finish(names::kView, {product, TRY(node.view_sizes(result.shape))});
}

Expected<void> write_linear(NodeWriter& node) {
  const TensorType& input = node.type(0);
  const TensorType& weight = node.type(1);
  const TensorType& result = node.result_type();
  const bool has_bias = node.input_count() > 2;
  const pte::ValueIndex rows = TRY(node.reshaped(TRY(node.input(0)), input, flattened(node.exprs(), input.shape, 1)));
  const pte::ValueIndex columns = TRY(node.step(names::kPermute, {TRY(node.input(1)), node.integers({1, 0})},
                                                {weight.dtype, {weight.shape[1], weight.shape[0]}}));
  const std::string_view kernel = has_bias ? names::kAddmm : names::kMm;
  std::vector<pte::ValueIndex> args{rows, columns};
  if (has_bias) args = {TRY(node.input(2)), rows, columns, node.integer(1), node.integer(1)};
  if (result.rank() == 2) return node.finish(kernel, std::move(args));
  const TensorType flat{result.dtype, flattened(node.exprs(), result.shape, 1)};
  const pte::ValueIndex product = TRY(node.step(kernel, std::move(args), flat));
  return node.finish(names::kView, {product, TRY(node.view_sizes(result.shape))});
}

// The kernel pads both sides of an axis alike: what is left is padded before.
Expected<void> write_conv(NodeWriter& node) {
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
    input = TRY(node.step(names::kConstantPad, {input, node.integers(before_it), node.number(0, type.dtype)}, type));
  }
  return node.finish({input, TRY(node.input(1)), TRY(node.input(2)), node.integers(attrs.stride),
                      node.integers(padding), node.integers(attrs.dilation), node.boolean(false), node.integers({0, 0}),
                      node.integer(attrs.groups)});
}

// The kernel cuts both sides of an axis alike, and adds to the end.
Expected<void> write_conv_transpose(NodeWriter& node) {
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
                      node.integers(padding), node.integers(attrs.dilation), node.boolean(true), node.integers(added),
                      node.integer(attrs.groups)});
}

Expected<void> run_matmul(RunningCall& call) {
  return call.store(2, Op::kMatmul, NoAttrs{}, TRY(call.tensor(0)), TRY(call.tensor(1)));
}
Expected<void> run_addmm(RunningCall& call) {
  if (TRY(call.number(3)) != 1 || TRY(call.number(4)) != 1) {
    return fail(ErrorKind::kUnsupported, "an alpha or a beta other than 1");
  }
  const Tensor product = TRY(call.compute(Op::kMatmul, NoAttrs{}, TRY(call.tensor(1)), TRY(call.tensor(2))));
  return call.store(5, Op::kAdd, NoAttrs{}, product, TRY(call.tensor(0)));
}

Expected<void> run_convolution(RunningCall& call) {
  std::vector<Tensor> inputs{TRY(call.tensor(0))};
  inputs.push_back(TRY(call.tensor(1)));
  if (!call.is_none(2)) inputs.push_back(TRY(call.tensor(2)));
  const Ints stride = TRY(call.pair(3));
  Ints padding = TRY(call.both_sides(4));
  const Ints dilation = TRY(call.pair(5));
  const std::int64_t groups = TRY(call.integer(8));
  if (!TRY(call.boolean(6))) {
    return call.store(9, Op::kConv2d, ConvAttrs{stride, padding, dilation, groups}, inputs);
  }
  const Ints added = TRY(call.pair(7));
  for (std::size_t i = 0; i < 2; ++i) {
    if (__builtin_sub_overflow(padding[2 * i + 1], added[i], &padding[2 * i + 1]))
      return bad_input("padding overflows");
  }
  const ConvTransposeAttrs attrs{stride, padding, dilation, groups};
  return call.store(9, Op::kConvTranspose2d, attrs, inputs);
}

constexpr Kernel kProductKernels[] = {
    {.name = names::kMm, .arguments = "tt", .run = run_matmul},
    {.name = names::kBmm, .arguments = "tt", .run = run_matmul},
    {.name = names::kAddmm, .arguments = "tttnn", .run = run_addmm},
    {.name = names::kConvolution,
     .arguments = "ttoIIIbIi",
     .run = run_convolution,
     .written = {.op = Op::kConv2d, .write = write_conv, .types = ElementTypes::kNoBool, .widens = true}},
};
constexpr WrittenOp kProductComposites[] = {
    {.op = Op::kMatmul, .write = write_matmul, .types = ElementTypes::kNoBool, .widens = true},
    {.op = Op::kLinear, .write = write_linear, .types = ElementTypes::kNoBool, .widens = true},
    {.op = Op::kConvTranspose2d,
     .write = write_conv_transpose,
     .types = ElementTypes::kNoBool,
     .widens = true,
     .kernel = names::kConvolution},
};

}  // namespace

Family product_family() { return {kProductKernels, kProductComposites}; }

}  // namespace isthmus::host
