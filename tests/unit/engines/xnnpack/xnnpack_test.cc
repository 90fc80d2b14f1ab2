// What the local XNNPACK does with int8 tensors: it moves them, and it refuses to move them between two scales.
#include <cpuinfo.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <xnnpack.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace isthmus::xnnpack_test {
namespace {

struct Params {
  float scale = 0.05f;
  std::int32_t zero_point = 3;
};

const Params kCommon{};
const Params kOtherScale{.scale = std::nextafter(kCommon.scale, 1.0f)};
const Params kOtherZeroPoint{.zero_point = kCommon.zero_point + 1};

using Shape = std::vector<std::size_t>;

// A subgraph of int8 values. External values are numbered in the order of their definition.
class Subgraph {
 public:
  explicit Subgraph(std::uint32_t external_count) {
    EXPECT_EQ(xnn_initialize(nullptr), xnn_status_success) << "are /proc and /sys mounted?";
    xnn_subgraph_t raw = nullptr;
    EXPECT_EQ(xnn_create_subgraph(external_count, 0, &raw), xnn_status_success);
    subgraph_.reset(raw);
  }

  std::uint32_t input(const Shape& shape, Params params) { return value(shape, params, XNN_VALUE_FLAG_EXTERNAL_INPUT); }
  std::uint32_t output(const Shape& shape, Params params) {
    return value(shape, params, XNN_VALUE_FLAG_EXTERNAL_OUTPUT);
  }
  std::uint32_t internal(const Shape& shape, Params params) { return value(shape, params, 0); }

  // One run over the external values' buffers, in the order of their ids.
  xnn_status run(const std::vector<std::int8_t*>& buffers) {
    xnn_runtime_t raw = nullptr;
    xnn_status status = xnn_create_runtime_v2(get(), nullptr, 0, &raw);
    const std::unique_ptr<xnn_runtime, decltype(&xnn_delete_runtime)> runtime(raw, xnn_delete_runtime);
    std::vector<xnn_external_value> external;
    for (std::uint32_t id = 0; id < buffers.size(); ++id) external.push_back({.id = id, .data = buffers[id]});
    if (status == xnn_status_success) status = xnn_reshape_runtime(raw);
    if (status == xnn_status_success) status = xnn_setup_runtime_v2(raw, external.size(), external.data());
    if (status == xnn_status_success) status = xnn_invoke_runtime(raw);
    return status;
  }

  xnn_subgraph_t get() const { return subgraph_.get(); }

 private:
  std::uint32_t value(const Shape& shape, Params params, std::uint32_t flags) {
    const std::uint32_t external_id = flags == 0 ? XNN_INVALID_VALUE_ID : next_external_++;
    std::uint32_t id = XNN_INVALID_VALUE_ID;
    EXPECT_EQ(xnn_define_quantized_tensor_value(get(), xnn_datatype_qint8, params.zero_point, params.scale,
                                                shape.size(), shape.data(), /*data=*/nullptr, external_id, flags, &id),
              xnn_status_success);
    return id;
  }

  std::unique_ptr<xnn_subgraph, decltype(&xnn_delete_subgraph)> subgraph_{nullptr, xnn_delete_subgraph};
  std::uint32_t next_external_ = 0;
};

// XNNPACK may read a few bytes past the end of an input.
std::vector<std::int8_t> padded(std::vector<std::int8_t> quantized) {
  quantized.resize(quantized.size() + XNN_EXTRA_BYTES);
  return quantized;
}

TEST(Xnnpack, RunsAQuantizedTransposeAndConcatenate) {
  Subgraph graph(3);
  const std::uint32_t image = graph.input({1, 2, 3}, kCommon);
  const std::uint32_t token = graph.input({1, 1, 2}, kCommon);
  const std::uint32_t tokens = graph.output({1, 4, 2}, kCommon);
  const std::uint32_t patches = graph.internal({1, 3, 2}, kCommon);
  const Shape order{0, 2, 1};
  ASSERT_EQ(xnn_define_static_transpose(graph.get(), 3, order.data(), image, patches, 0), xnn_status_success);
  ASSERT_EQ(xnn_define_concatenate2(graph.get(), 1, token, patches, tokens, 0), xnn_status_success);

  std::vector<std::int8_t> image_values = padded({1, 2, 3, -128, 5, 127});
  std::vector<std::int8_t> token_values = padded({-7, 9});
  std::vector<std::int8_t> result(8 + XNN_EXTRA_BYTES);
  ASSERT_EQ(graph.run({image_values.data(), token_values.data(), result.data()}), xnn_status_success);
  result.resize(8);
  EXPECT_EQ(result, (std::vector<std::int8_t>{-7, 9, 1, -128, 2, 5, 3, 127}));
}

// An op that moves quantized values: how it is defined from one or two inputs of the same shape.
struct Mover {
  std::string name;
  std::size_t input_count;
  Shape in;
  Shape out;
  xnn_status (*define)(xnn_subgraph_t, const std::vector<std::uint32_t>& inputs, std::uint32_t output);
};

std::ostream& operator<<(std::ostream& stream, const Mover& mover) { return stream << mover.name; }

const Mover kMovers[] = {
    {.name = "static_transpose",
     .input_count = 1,
     .in = {1, 4, 4, 2},
     .out = {1, 2, 4, 4},
     .define =
         [](xnn_subgraph_t graph, const std::vector<std::uint32_t>& inputs, std::uint32_t output) {
           const Shape order{0, 3, 1, 2};
           return xnn_define_static_transpose(graph, 4, order.data(), inputs[0], output, 0);
         }},
    {.name = "static_slice",
     .input_count = 1,
     .in = {1, 4, 4, 2},
     .out = {1, 2, 4, 2},
     .define =
         [](xnn_subgraph_t graph, const std::vector<std::uint32_t>& inputs, std::uint32_t output) {
           const Shape offsets{0, 1, 0, 0};
           const Shape sizes{1, 2, 4, 2};
           return xnn_define_static_slice(graph, 4, offsets.data(), sizes.data(), inputs[0], output, 0);
         }},
    {.name = "static_reshape",
     .input_count = 1,
     .in = {1, 4, 4, 2},
     .out = {1, 16, 2},
     .define =
         [](xnn_subgraph_t graph, const std::vector<std::uint32_t>& inputs, std::uint32_t output) {
           const Shape shape{1, 16, 2};
           return xnn_define_static_reshape(graph, 3, shape.data(), inputs[0], output, 0);
         }},
    {.name = "static_constant_pad",
     .input_count = 1,
     .in = {1, 4, 4, 2},
     .out = {1, 6, 4, 2},
     .define =
         [](xnn_subgraph_t graph, const std::vector<std::uint32_t>& inputs, std::uint32_t output) {
           const Shape border{0, 1, 0, 0};
           return xnn_define_static_constant_pad(graph, border.data(), border.data(), 0.0f, inputs[0], output, 0);
         }},
    {.name = "max_pooling_2d",
     .input_count = 1,
     .in = {1, 4, 4, 2},
     .out = {1, 2, 2, 2},
     .define =
         [](xnn_subgraph_t graph, const std::vector<std::uint32_t>& inputs, std::uint32_t output) {
           const float infinity = std::numeric_limits<float>::infinity();
           return xnn_define_max_pooling_2d(graph, 0, 0, 0, 0, 2, 2, 2, 2, 1, 1, -infinity, infinity, inputs[0], output,
                                            0);
         }},
    {.name = "concatenate2",
     .input_count = 2,
     .in = {1, 4, 4, 2},
     .out = {1, 8, 4, 2},
     .define = [](xnn_subgraph_t graph, const std::vector<std::uint32_t>& inputs,
                  std::uint32_t output) { return xnn_define_concatenate2(graph, 1, inputs[0], inputs[1], output, 0); }},
};

class XnnpackMover : public testing::TestWithParam<Mover> {
 protected:
  // What XNNPACK says to the op when one of its inputs has parameters other than everything else.
  static xnn_status define(std::size_t odd_input, Params odd) {
    const Mover& mover = GetParam();
    Subgraph graph(static_cast<std::uint32_t>(mover.input_count) + 1);
    std::vector<std::uint32_t> inputs;
    for (std::size_t i = 0; i < mover.input_count; ++i) {
      inputs.push_back(graph.input(mover.in, i == odd_input ? odd : kCommon));
    }
    return mover.define(graph.get(), inputs, graph.output(mover.out, kCommon));
  }
};

TEST_P(XnnpackMover, RunsWithOneSetOfParameters) {
  const Mover& mover = GetParam();
  Subgraph graph(static_cast<std::uint32_t>(mover.input_count) + 1);
  std::vector<std::uint32_t> inputs;
  std::vector<std::vector<std::int8_t>> buffers;
  for (std::size_t i = 0; i < mover.input_count; ++i) {
    inputs.push_back(graph.input(mover.in, kCommon));
    buffers.push_back(padded(std::vector<std::int8_t>(32, 11)));
  }
  ASSERT_EQ(mover.define(graph.get(), inputs, graph.output(mover.out, kCommon)), xnn_status_success);

  std::size_t count = 1;
  for (const std::size_t size : mover.out) count *= size;
  buffers.push_back(padded(std::vector<std::int8_t>(count)));
  std::vector<std::int8_t*> pointers;
  for (auto& buffer : buffers) pointers.push_back(buffer.data());
  ASSERT_EQ(graph.run(pointers), xnn_status_success);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int8_t q = buffers.back()[i];
    EXPECT_TRUE(q == 11 || (mover.name == "static_constant_pad" && q == kCommon.zero_point)) << i << ": " << +q;
  }
}

TEST_P(XnnpackMover, RefusesTwoScales) {
  for (std::size_t i = 0; i < GetParam().input_count; ++i) {
    EXPECT_EQ(define(i, kOtherScale), xnn_status_invalid_parameter) << "input " << i;
  }
}

TEST_P(XnnpackMover, RefusesTwoZeroPoints) {
  for (std::size_t i = 0; i < GetParam().input_count; ++i) {
    EXPECT_EQ(define(i, kOtherZeroPoint), xnn_status_invalid_parameter) << "input " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, XnnpackMover, testing::ValuesIn(kMovers),
                         [](const testing::TestParamInfo<Mover>& tested) { return tested.param.name; });

// Tests that run at a lower level of the CPU do run there: preload/mask_cpu.cc reaches XNNPACK and Highway.
TEST(CpuLevel, IsAsAsked) {
  const char* asked = std::getenv("ISTHMUS_CPU_LEVEL");
  if (asked == nullptr) GTEST_SKIP() << "this run is not masked";
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
#if CPUINFO_ARCH_X86_64
  EXPECT_FALSE(cpuinfo_has_x86_avx512f());
  EXPECT_FALSE(cpuinfo_has_x86_avx512vnni());
  EXPECT_FALSE(cpuinfo_has_x86_avxvnni());
  const auto targets = hwy::SupportedTargets();
  EXPECT_EQ(targets & (HWY_AVX2 - 1), 0);
  if (asked == std::string("avx2")) return;
  EXPECT_FALSE(cpuinfo_has_x86_avx2());
  EXPECT_FALSE(cpuinfo_has_x86_avx());
  EXPECT_FALSE(cpuinfo_has_x86_sse4_1());
  EXPECT_FALSE(cpuinfo_has_x86_ssse3());
  EXPECT_EQ(targets & (2 * HWY_SSSE3 - 1), 0);
#endif
}

}  // namespace
}  // namespace isthmus::xnnpack_test
