// One node in the forms that NPUs prefer, against the plain form of tosa-int: the same numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/calls.h"
#include "support/quantized_graphs.h"
#include "support/quantized_tensors.h"
#include "targets/ethos_u/forms/forms.h"
#include "targets/ethos_u/integer_kernels.h"

namespace isthmus::ethos_u_forms_test {
namespace {

using ethos_u::Device;
using ethos_u::integer_kernels;
using test::Chance;
using test::QuantizedTensor;

constexpr Device kNpus[] = {Device::kU55, Device::kU85};

QuantizedTensor like(std::vector<std::int64_t> sizes, Quant quant, DType dtype = DType::kI8) {
  return {Tensor(dtype, std::move(sizes)), std::move(quant)};
}

double max_difference(const Tensor& a, const Tensor& b) {
  double max = 0;
  dispatch(a.dtype(), [&]<class Number>(Number) {
    for (std::size_t i = 0; i < a.data<Number>().size(); ++i) {
      max =
          std::max(max, std::abs(static_cast<double>(a.data<Number>()[i]) - static_cast<double>(b.data<Number>()[i])));
    }
  });
  return max;
}

// Steps by which a device's result differs from tosa-int's.
double difference(Device device, Op op, const Attrs& attrs, const std::vector<QuantizedTensor>& inputs,
                  const QuantizedTensor& result) {
  const auto on = [&](Device where) {
    return test::compute_quantized(integer_kernels(where), op, attrs, inputs, result.type());
  };
  return max_difference(on(device), on(Device::kTosaInt));
}

// Shapes of the first operator of a kind in the form of a node.
std::vector<Ints> shapes_of(Device device, tosa::Op kind, Op op, const Attrs& attrs,
                            const std::vector<QuantizedTensor>& inputs, const QuantizedTensor& result) {
  const Graph graph = test::one_node_graph(op, attrs, inputs, result.type());
  const QuantizedTypes types(inputs[0].tensor.dtype(), result.tensor.dtype());
  const ethos_u::Forms found = ethos_u::forms(graph, graph.nodes()[0], types, device);
  std::vector<Ints> shapes;
  if (!found) return shapes;
  for (const ethos_u::TosaForm& form : *found) {
    if (form.op == kind) shapes.push_back(form.inputs[0].shape);
  }
  return shapes;
}

struct Layer {
  QuantizedTensor x, w, bias;
};
Layer layer(Chance& chance, std::vector<std::int64_t> in, std::vector<std::int64_t> weight, DType dtype) {
  Layer made{{chance.quantized(std::move(in), dtype), chance.quant(0.1f, dtype)},
             {chance.quantized(weight), Quant{{}, 0, 0}},
             {Tensor(DType::kI32, {weight[0]}), Quant{{}, 0, 0}}};
  for (std::int64_t c = 0; c < weight[0]; ++c) {
    made.w.quant->scales.push_back(chance.scale(0.01, 0.1));
    made.bias.quant->scales.push_back(made.w.quant->scales.back() * 0.1f);
    made.bias.tensor.mutable_data<std::int32_t>()[static_cast<std::size_t>(c)] =
        static_cast<std::int32_t>(chance.integer(-9999, 9999));
  }
  return made;
}

TEST(EthosUPreferredForms, PixelsOfFewChannelsAreComputedInPairsOnU85) {
  Chance chance(1);
  const Layer image = layer(chance, {1, 24, 6, 8}, {40, 24, 1, 1}, DType::kI8);
  const ConvAttrs attrs{{1, 1}, {0, 0, 0, 0}, {1, 1}, 1};
  const QuantizedTensor result = like({1, 40, 6, 8}, chance.quant(0.5f));
  EXPECT_THAT(shapes_of(Device::kU85, tosa::Op::kConv2d, Op::kConv2d, attrs, {image.x, image.w, image.bias}, result),
              testing::ElementsAre(Ints{1, 1, 24, 48}));
  const Layer rows = layer(chance, {2, 9, 32}, {20, 32}, DType::kI8);
  for (const Device device : kNpus) {
    EXPECT_EQ(difference(device, Op::kConv2d, attrs, {image.x, image.w, image.bias}, result), 0);
    EXPECT_EQ(
        difference(device, Op::kLinear, NoAttrs{}, {rows.x, rows.w, rows.bias}, like({2, 9, 20}, chance.quant(0.5f))),
        0);
  }
}

TEST(EthosUPreferredForms, ColumnsOfAStepAreChannels) {
  Chance chance(2);
  for (const std::int64_t padding : {0, 1, 2}) {
    for (const std::int64_t kernel : {2, 3, 5}) {
      for (const std::int64_t step : {2, 3}) {
        const Layer image = layer(chance, {1, 3, 13, 12}, {16, 3, kernel, kernel}, DType::kI16);
        const ConvAttrs attrs{{step, step}, {padding, padding, padding, padding}, {1, 1}, 1};
        const auto out = [&](std::int64_t size) { return (size + 2 * padding - kernel) / step + 1; };
        const QuantizedTensor result = like({1, 16, out(13), out(12)}, chance.quant(0.5f));
        for (const Device device : kNpus) {
          EXPECT_EQ(difference(device, Op::kConv2d, attrs, {image.x, image.w, image.bias}, result), 0)
              << padding << " " << kernel << " " << step;
        }
      }
    }
  }
  const Layer image = layer(chance, {1, 3, 64, 64}, {32, 3, 3, 3}, DType::kI16);
  EXPECT_THAT(shapes_of(Device::kU55, tosa::Op::kConv2d, Op::kConv2d, ConvAttrs{{2, 2}, {1, 1, 1, 1}, {1, 1}, 1},
                        {image.x, image.w, image.bias}, like({1, 32, 32, 32}, chance.quant(0.5f))),
              testing::ElementsAre(Ints{1, 64, 32, 6}));
}

// Sums of 48 bits have factors of 15 bits, and partial sums of 16 bits are rounded.
TEST(EthosUPreferredForms, MeansOfImages) {
  Chance chance(3);
  for (const DType dtype : {DType::kI8, DType::kI16}) {
    const QuantizedTensor x{chance.quantized({1, 64, 8, 7}, dtype), chance.quant(0.1f, dtype)};
    for (const Device device : kNpus) {
      EXPECT_LE(difference(device, Op::kMean, ReduceAttrs{{2, 3}, true}, {x}, like({1, 64, 1, 1}, chance.quant(0.02f))),
                1);
    }
  }
}

TEST(EthosUPreferredForms, SixteenBitsBecomeEight) {
  Chance chance(4);
  const QuantizedTensor x{chance.quantized({2, 5, 48}, DType::kI16), Quant{{0.001f}, 0, -1}};
  for (const Device device : kNpus) {
    EXPECT_LE(difference(device, Op::kRescale, NoAttrs{}, {x}, like({2, 5, 48}, chance.quant(0.2f))), 1);
    EXPECT_LE(difference(device, Op::kGelu, GeluAttrs{}, {x}, like({2, 5, 48}, chance.quant(0.2f))), 1);
  }
}

// The operators that read rows, with all rows and with a part of them.
TEST(EthosUPreferredForms, RowsAreComputedInPartsWhereMemoryIsShort) {
  const Graph graph = test::graph_of(R"(graph
  input %x : f32[1,64,48]
  %y = softmax(%x) axis=2 : f32[1,64,48]
  return %y
)");
  const auto rows = [&](std::int64_t parts) {
    const auto made = ethos_u::form_graph(graph, graph.nodes()[0], DType::kI8, Device::kU85, parts);
    std::size_t sums = 0;
    if (made) {
      sums = static_cast<std::size_t>(std::ranges::count(made->operators, tosa::Op::kReduceSum, &tosa::Operator::op));
    }
    return sums;
  };
  EXPECT_EQ(rows(1), 1U);
  EXPECT_EQ(rows(4), 4U);
}

}  // namespace
}  // namespace isthmus::ethos_u_forms_test
