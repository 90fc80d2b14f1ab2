// The pickle machine: what torch.save writes is read, everything else is refused and nothing runs.
#include "formats/torch/pickle.h"

#include <gmock/gmock.h>

#include "support/zip_builder.h"

namespace isthmus::pickle::pickle_test {
namespace {

using test::blob_of;
using testing::HasSubstr;
using namespace std::string_literals;

std::string problem(const std::string& bytes) {
  const Blob blob = blob_of(bytes);
  const auto heap = Heap::read(blob.bytes());
  return heap ? "" : heap.error().text();
}

std::string text(std::string_view value) {
  std::string out = "X";
  for (int i = 0; i < 4; ++i) out += static_cast<char>(value.size() >> (8 * i));
  return out + std::string(value);
}

const std::string kProto = "\x80\x02";
const std::string kStorage = "(" + text("storage") + "ctorch\nFloatStorage\n" + text("0") + text("cpu") + "K\x0ctQ";
const std::string kOrderedDict = "ccollections\nOrderedDict\n)R";
// sizes (3, 4), strides (4, 1), offset 0
const std::string kTensor = "ctorch._utils\n_rebuild_tensor_v2\n(" + kStorage + "K\0"s + "K\x03K\x04\x86" +
                            "K\x04K\x01\x86" + "\x89" + kOrderedDict + "tR";

TEST(Pickle, ReadsPlainValues) {
  const Blob bytes = blob_of(kProto + "(NI"s.substr(0, 2) + "\x88\x89" + "K\xff" + "M\x01\x02" + "J\xfe\xff\xff\xff" +
                             "G\x3f\xf8\0\0\0\0\0\0"s + "\x8a\x02\x00\x80"s + "\x8a\x00"s + text("h\xC3\xA9") + "t.");
  const auto heap = Heap::read(bytes.bytes());
  ASSERT_TRUE(heap) << heap.error().text();
  const Value root = heap->root();
  ASSERT_EQ(root.kind(), Kind::kTuple);
  ASSERT_EQ(root.item_count(), 10u);
  EXPECT_EQ(root.item(0).kind(), Kind::kNone);
  EXPECT_TRUE(root.item(1).as_bool());
  EXPECT_FALSE(root.item(2).as_bool());
  EXPECT_EQ(root.item(3).as_integer(), 255);
  EXPECT_EQ(root.item(4).as_integer(), 0x0201);
  EXPECT_EQ(root.item(5).as_integer(), -2);
  EXPECT_EQ(root.item(6).as_float(), 1.5);
  EXPECT_EQ(root.item(7).as_integer(), -32768);
  EXPECT_EQ(root.item(8).as_integer(), 0);
  EXPECT_EQ(root.item(9).as_text(), "h\xC3\xA9");
}

TEST(Pickle, ReadsContainersAndTheMemo) {
  // [7, 8] filled in both ways, {"a": 7, "b": list}, the list shared through the memo.
  const Blob bytes =
      blob_of(kProto + "]q\0"s + "K\x07" + "a(K\x08" + "e}" + text("a") + "K\x07s(" + text("b") + "h\0"s + "u\x86.");
  const auto heap = Heap::read(bytes.bytes());
  ASSERT_TRUE(heap) << heap.error().text();
  const Value list = heap->root().item(0), dict = heap->root().item(1);
  ASSERT_EQ(list.item_count(), 2u);
  EXPECT_EQ(list.item(1).as_integer(), 8);
  ASSERT_EQ(dict.item_count(), 4u);
  EXPECT_EQ(dict.item(2).as_text(), "b");
  EXPECT_EQ(dict.item(3).item_count(), 2u);
}

TEST(Pickle, RebuildsTensors) {
  for (const std::string& pickle :
       {kTensor, "ctorch._utils\n_rebuild_parameter\n(" + kTensor + "\x88" + kOrderedDict + "tR",
        "ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\nctorch\nTensor\n(" + kStorage +
            "K\0"s + "K\x03K\x04\x86K\x04K\x01\x86\x89" + kOrderedDict + "t}tR"}) {
    const Blob bytes = blob_of(kProto + pickle + ".");
    const auto heap = Heap::read(bytes.bytes());
    ASSERT_TRUE(heap) << heap.error().text();
    ASSERT_EQ(heap->root().kind(), Kind::kTensor);
    const Tensor tensor = heap->root().as_tensor();
    EXPECT_EQ(tensor.dtype, DType::kF32);
    EXPECT_EQ(tensor.storage_key, "0");
    EXPECT_EQ(tensor.storage_bytes, 48u);
    EXPECT_EQ(tensor.sizes.item(1).as_integer(), 4);
    EXPECT_EQ(tensor.strides.item(0).as_integer(), 4);
  }
}

TEST(Pickle, RebuildsTensorsOfUntypedStorages) {
  const std::string storage =
      "(" + text("storage") + "ctorch.storage\nUntypedStorage\n" + text("7") + text("cpu") + "K\x06tQ";
  const Blob bytes = blob_of(kProto + "ctorch._utils\n_rebuild_tensor_v3\n(" + storage + "K\0"s +
                             "K\x03\x85K\x01\x85\x89" + kOrderedDict + "ctorch\nuint16\ntR.");
  const auto heap = Heap::read(bytes.bytes());
  ASSERT_TRUE(heap) << heap.error().text();
  EXPECT_EQ(heap->root().as_tensor().dtype, DType::kU16);
  EXPECT_EQ(heap->root().as_tensor().storage_bytes, 6u);
}

TEST(Pickle, RunsNothing) {
  EXPECT_THAT(problem(kProto + "cos\nsystem\n(" + text("id") + "tR."), HasSubstr("refers to \"system\" of \"os\""));
  EXPECT_THAT(problem(kProto + "cbuiltins\neval\n)R."), HasSubstr("refers to \"eval\" of \"builtins\""));
  EXPECT_THAT(problem(kProto + "ctorch\nload\n)R."), HasSubstr("refers to \"load\" of \"torch\""));
  EXPECT_THAT(problem(kProto + "ctorch\nTensor\n)R."), HasSubstr("Tensor is not a function"));
  EXPECT_THAT(problem(kProto + "c\x1b[2J\nx\n)R."), HasSubstr("\\x1b[2J"));
  EXPECT_THAT(problem(kProto + "(ios\nsystem\n."), HasSubstr("opcode 0x69"));
  EXPECT_THAT(problem(kProto + ")\x81."), HasSubstr("opcode 0x81"));
  EXPECT_THAT(problem(kProto + "N}b."), HasSubstr("sets the state of an object"));
}

TEST(Pickle, RefusesBrokenOnes) {
  EXPECT_THAT(problem(""), HasSubstr("truncated"));
  EXPECT_THAT(problem("\x80\x05N."), HasSubstr("protocol 5"));
  EXPECT_THAT(problem(kProto + "."), HasSubstr("empty stack"));
  EXPECT_THAT(problem(kProto + "NN."), HasSubstr("left over"));
  EXPECT_THAT(problem(kProto + "(N."), HasSubstr("left over"));
  EXPECT_THAT(problem(kProto + "t."), HasSubstr("no mark"));
  EXPECT_THAT(problem(kProto + "N\x86."), HasSubstr("empty stack"));
  EXPECT_THAT(problem(kProto + "N(\x85."), HasSubstr("empty stack"));
  EXPECT_THAT(problem(kProto + "h\0."s), HasSubstr("memo 0 is read before"));
  EXPECT_THAT(problem(kProto + "Nr\xff\xff\xff\x7f."), HasSubstr("memo 2147483647"));
  EXPECT_THAT(problem(kProto + "X\xff\xff\xff\xff."), HasSubstr("truncated"));
  EXPECT_THAT(problem(kProto + text("\xFF") + "."), HasSubstr("not UTF-8"));
  EXPECT_THAT(problem(kProto + "\x8a\x09" + std::string(9, '\1') + "."), HasSubstr("more than 64 bits"));
  EXPECT_THAT(problem(kProto + "NNa."), HasSubstr("not a container"));
  EXPECT_THAT(problem(kProto + "}(Nu."), HasSubstr("without a value"));
  EXPECT_THAT(problem(kProto + ")Q."), HasSubstr("persistent id"));
  EXPECT_THAT(problem(kProto + "NQ."), HasSubstr("persistent id"));
  EXPECT_THAT(problem(kProto + "N)R."), HasSubstr("a function"));
  EXPECT_THAT(problem(kProto + "ctorch._utils\n_rebuild_tensor_v2\n)R."), HasSubstr("wrong kind"));
  EXPECT_THAT(problem(kProto + "ctorch._utils\n_rebuild_parameter\n)R."), HasSubstr("expects a tensor"));
  EXPECT_THAT(
      problem(kProto +
              "ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._tensor\n_rebuild_from_type_v2\nctorch\nTensor\n)}tR."),
      HasSubstr("calls itself"));
}

TEST(Pickle, EveryTruncationIsNoticed) {
  const std::string pickle = kProto + kTensor + ".";
  EXPECT_EQ(problem(pickle), "");
  for (std::size_t size = 0; size < pickle.size(); ++size) EXPECT_NE(problem(pickle.substr(0, size)), "") << size;
}

TEST(Pickle, SharedValuesCostNothing) {
  // A tuple of two of the former, forty times over: 2^40 leaves if each were copied.
  std::string pickle = kProto + "Nq\0"s;
  for (int i = 0; i < 40; ++i)
    pickle += "h"s + static_cast<char>(i) + "h" + static_cast<char>(i) + "\x86q" + static_cast<char>(i + 1);
  // Everything but the last value has to leave the stack.
  pickle = kProto + "(" + pickle.substr(2) + "t.";
  EXPECT_EQ(problem(pickle), "");
}

TEST(Pickle, BoundsItsSize) { EXPECT_THAT(problem(std::string((8 << 20) + 1, 'N')), HasSubstr("at most 8388608")); }

}  // namespace
}  // namespace isthmus::pickle::pickle_test
