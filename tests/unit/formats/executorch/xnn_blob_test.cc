// The graph of an XNNPACK delegate: what is written is read again, and nothing else is believed.
#include "formats/executorch/xnn_blob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "support/programs.h"

namespace isthmus::xnn_blob_test {
namespace {

using test::blob_of;
using test::bytes_of;
using test::GraphBuilder;
using test::replaced;
using test::vector_bytes;
using testing::HasSubstr;
using xnn::DataType;
using xnn::NodeKind;

std::vector<std::byte> zeros(std::size_t count) { return std::vector<std::byte>(count); }

void expect_equal(const xnn::Graph& found, const xnn::Graph& expected) {
  EXPECT_TRUE(found.values == expected.values);
  EXPECT_TRUE(found.nodes == expected.nodes);
  EXPECT_EQ(found.external_count, expected.external_count);
  ASSERT_EQ(found.constants.size(), std::max<std::size_t>(expected.constants.size(), 1));
  for (std::size_t i = 1; i < found.constants.size(); ++i) {
    EXPECT_EQ(found.constants[i].key, expected.constants[i].key);
    EXPECT_EQ(found.constants[i].size, expected.constants[i].size);
    EXPECT_EQ(found.constants[i].bytes.text(), expected.constants[i].bytes.text());
  }
}

std::string refusal(const Blob& blob) {
  const auto graph = xnn::read_blob(blob);
  return graph ? "accepted" : graph.error().text();
}

// Every way to say what quantized values mean, and both places of constants.
xnn::Graph every_quantization() {
  GraphBuilder b;
  const auto x = b.input({2, 8}, DataType::kQI8, xnn::PerTensor{0.5f, -3});
  const auto in_place = b.constant({4, 8}, zeros(32), DataType::kQCI8, xnn::PerChannel{{1, 2, 3, 4}, 0, 4, 0});
  const auto bias = b.constant({4}, zeros(16), DataType::kQCI32, xnn::PerChannel{{}, 3, 4, 0});
  b.graph.constants.push_back({"scale_key", 16, Blob()});
  b.graph.constants[1] = {"weights", 32, Blob()};
  b.node(NodeKind::kFullyConnected, {x, in_place, bias}, {b.output({2, 4}, DataType::kQI8, xnn::PerTensor{0.25f, 7})});
  const auto f = b.input({3, 32});
  const auto rows = b.internal({3, 32}, DataType::kQDI8, xnn::PerToken{1});
  b.node(NodeKind::kConvert, {f}, {rows}).debug_handle = 77;
  const auto groups = b.constant({4, 32}, zeros(64), DataType::kQCI4, xnn::PerGroup{{1, 2, 3, 4}, 0, 4, 0, 32});
  xnn::Node& node = b.node(NodeKind::kFullyConnected, {rows, groups, xnn::kNone}, {b.output({3, 4})});
  node.bounds = xnn::Bounds{0, 6};
  node.flags = 1;
  return b.graph;
}

TEST(XnnBlob, EveryKindOfNodeIsReadAgain) {
  std::size_t kinds = 0;
  for (const NodeKind kind : test::node_kinds()) {
    if (xnn::form_of(kind) == xnn::Form::kDead) continue;
    const xnn::Graph graph = test::one_node(kind);
    const Blob blob = blob_of(graph);
    const auto again = xnn::read_blob(blob);
    ASSERT_TRUE(again.has_value()) << xnn::name_of(kind) << ": " << again.error().text();
    expect_equal(*again, graph);
    EXPECT_EQ(blob_of(*again).text(), blob.text()) << xnn::name_of(kind);
    ++kinds;
  }
  EXPECT_EQ(kinds, 46u);
}

TEST(XnnBlob, EveryQuantizationIsReadAgain) {
  const auto again = xnn::read_blob(blob_of(every_quantization()));
  ASSERT_TRUE(again.has_value()) << again.error().text();
  expect_equal(*again, every_quantization());
}

TEST(XnnBlob, TheHeaderIsWhereRuntimesLookForIt) {
  const Blob blob = blob_of(test::one_node(NodeKind::kFullyConnected));
  EXPECT_EQ(blob.text().substr(0, 8), std::string("\0\0\0\0XH00", 8));
  EXPECT_EQ(blob.text().substr(36, 4), "XN01");
  // A graph without a header around it is read too.
  GraphBuilder b;
  b.node(NodeKind::kAbs, {b.input({2})}, {b.output({2})});
  const auto bare = blob_of(b.graph).part(32, blob_of(b.graph).size() - 32);
  EXPECT_EQ(refusal(*bare), "accepted");
  EXPECT_EQ(refusal(replaced(*bare, "XN01", "XN00")), "accepted");
  EXPECT_THAT(refusal(replaced(*bare, "XN01", "XN02")), HasSubstr("damaged, or not a graph of XNNPACK"));
}

struct Fault {
  const char* name;
  std::function<void(xnn::Graph&)> make;  // of a fully connected node: values input, filter, bias, output
  const char* words;
};

const Fault kFaults[] = {
    {"externals", [](auto& g) { g.external_count = 4097; }, "4097 externals"},
    {"rank", [](auto& g) { g.values[0].dims.assign(7, 1); }, "7 dimensions\n  in value 0"},
    {"size",
     [](auto& g) {
       g.values[0].dims = {1u << 31, 1u << 31};
     },
     "its size overflows"},
    {"constant", [](auto& g) { g.values[1].data = 3; }, "constant 3 of 3\n  in value 1"},
    {"constant input", [](auto& g) { g.values[0].data = 1; }, "a constant that is an input or output"},
    {"internal id", [](auto& g) { g.values[1].external_id = 0; }, "an internal value with an external id"},
    {"external id", [](auto& g) { g.values[0].external_id = 2; }, "external id 2 of 2"},
    {"external id twice", [](auto& g) { g.values[3].external_id = 0; }, "external id 0 is taken"},
    {"tokens", [](auto& g) { g.values[0].quant = xnn::PerToken{4}; }, "4 inner dimensions of 3"},
    {"scales",
     [](auto& g) {
       g.values[1].quant = xnn::PerChannel{{1, 2}, 0, 2, 0};
     },
     "2 scales for 5 channels"},
    {"scale count",
     [](auto& g) {
       g.values[1].quant = xnn::PerChannel{{1, 2}, 0, 5, 0};
     },
     "the number of scales differs"},
    {"scale axis",
     [](auto& g) {
       g.values[1].quant = xnn::PerChannel{{1}, 0, 1, 2};
     },
     "scales along axis 2"},
    {"scale place",
     [](auto& g) {
       g.values[1].quant = xnn::PerChannel{{}, 9, 5, 0};
     },
     "scales in constant 9 of 3"},
    {"scale bytes",
     [](auto& g) {
       g.constants[2].size = 19;
       g.values[1].quant = xnn::PerChannel{{}, 2, 5, 0};
     },
     "5 scales in a constant of 19 bytes"},
    {"scales twice",
     [](auto& g) {
       g.values[1].quant = xnn::PerChannel{{1}, 2, 1, 0};
     },
     "both here and in a constant"},
    {"groups",
     [](auto& g) {
       g.values[1].quant = xnn::PerGroup{{1}, 0, 1, 0, 3};
     },
     "1 scales for groups of 3"},
    {"groups' rank",
     [](auto& g) {
       g.values[2].quant = xnn::PerGroup{{1}, 0, 1, 0, 1};
     },
     "groups need two dimensions"},
    {"input", [](auto& g) { g.nodes[0].inputs[0] = 4; }, "its input 0 is value 4, which is not defined yet"},
    {"own output", [](auto& g) { g.nodes[0].inputs[0] = 3; }, "its input 0 is value 3, which is not defined yet"},
    {"missing filter", [](auto& g) { g.nodes[0].inputs[1] = xnn::kNone; }, "its input 1 is value 4294967295"},
    {"output", [](auto& g) { g.nodes[0].outputs[0] = 4; }, "it writes value 4, which does not exist"},
    {"writes an input", [](auto& g) { g.nodes[0].outputs[0] = 0; }, "it writes value 0, which is already defined"},
    {"writes twice", [](auto& g) { g.nodes.push_back(g.nodes[0]); }, "node 1 (fully_connected)"},
    {"no producer", [](auto& g) { g.nodes.clear(); }, "value 3 is an output that no node writes"},
};

TEST(XnnBlob, FaultyGraphsAreNotWritten) {
  for (const Fault& fault : kFaults) {
    xnn::Graph graph = test::one_node(NodeKind::kFullyConnected);
    fault.make(graph);
    const auto blob = xnn::write_blob(graph);
    ASSERT_FALSE(blob.has_value()) << fault.name;
    EXPECT_THAT(blob.error().text(), HasSubstr(fault.words)) << fault.name;
  }
}

TEST(XnnBlob, ADeadKindOfNodeIsRefused) {
  GraphBuilder b;
  b.node(NodeKind::kAttention, {}, {});
  const auto blob = xnn::write_blob(b.graph);
  ASSERT_FALSE(blob.has_value());
  EXPECT_THAT(blob.error().text(), HasSubstr("XNNPACK has no such node"));
}

TEST(XnnBlob, FaultyBytesAreRefused) {
  const Blob blob = blob_of(test::one_node(NodeKind::kTranspose));
  using Ints = std::vector<std::uint32_t>;
  EXPECT_THAT(refusal(*blob.part(0, 7)), HasSubstr("7 bytes are too few for a graph"));
  EXPECT_THAT(refusal(*blob.part(0, 29)), HasSubstr("its header is truncated"));
  EXPECT_THAT(refusal(*blob.part(0, blob.size() - 1)), HasSubstr("are outside of the file"));
  const auto with_header = [&](std::size_t offset, std::uint32_t number) {
    std::string text(blob.text());
    text.replace(offset, 4, bytes_of(Ints{number}));
    return refusal(replaced(blob, std::string(blob.text()), text));
  };
  EXPECT_THAT(with_header(10, 0xFFFFFFFF), HasSubstr("are outside of the file"));
  EXPECT_THAT(with_header(14, 0xFFFFFFFF), HasSubstr("are outside of the file"));
  EXPECT_THAT(with_header(18, 33), HasSubstr("the constants overlap the graph"));
  EXPECT_THAT(with_header(22, 1), HasSubstr("are outside of the file"));
  EXPECT_THAT(with_header(10, 33), HasSubstr("damaged"));
  EXPECT_THAT(with_header(14, 4), HasSubstr("damaged"));
  // A list of two axes where the node says three.
  const std::string order = vector_bytes(Ints{2, 0, 1});
  EXPECT_THAT(refusal(replaced(blob, order, bytes_of(Ints{2, 2, 0, 1}))), HasSubstr("a list of 2 values for 3"));
}

TEST(XnnBlob, TruncationsAndByteChangesNeverCrash) {
  for (const xnn::Graph& graph : {every_quantization(), test::one_node(NodeKind::kConv2d)}) {
    const Blob blob = blob_of(graph);
    for (std::size_t size = 0; size < blob.size(); ++size) (void)xnn::read_blob(*blob.part(0, size));
    std::vector<std::byte> changed(blob.bytes().begin(), blob.bytes().end());
    std::size_t refused = 0;
    for (std::byte& byte : changed) {
      const std::byte before = byte;
      for (const std::byte flip : {std::byte{1}, std::byte{0x80}, std::byte{0xFF}}) {
        byte = before ^ flip;
        refused += xnn::read_blob(Blob(changed, nullptr)).has_value() ? 0 : 1;
      }
      byte = before;
    }
    EXPECT_GT(refused, blob.size() / 4);
  }
}

}  // namespace
}  // namespace isthmus::xnn_blob_test
