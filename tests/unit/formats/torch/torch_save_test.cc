// Files of torch.save: tensors by name, and leaves of nested values.
#include "formats/torch/torch_save.h"

#include <gmock/gmock.h>

#include "support/zip_builder.h"

namespace isthmus::torch_save_test {
namespace {

using test::blob_of;
using test::build_zip;
using test::ZipItem;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::string_literals;

std::string text(std::string_view value) {
  std::string out = "X";
  for (int i = 0; i < 4; ++i) out += static_cast<char>(value.size() >> (8 * i));
  return out + std::string(value);
}

std::string tuple(const std::vector<int>& values) {
  std::string out = "(";
  for (const int value : values) out += "K"s + static_cast<char>(value);
  return out + "t";
}

std::string tensor(std::string_view storage_type, std::string_view key, int count, const std::vector<int>& sizes,
                   const std::vector<int>& strides, int offset = 0) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + std::string(storage_type) + "\n" +
         text(key) + text("cpu") + "K" + static_cast<char>(count) + "tQK" + static_cast<char>(offset) + tuple(sizes) +
         tuple(strides) + "\x89" + "ccollections\nOrderedDict\n)RtR";
}

std::string saved(const std::string& pickle, const std::vector<std::string>& storages, bool is_deflated = false,
                  const std::string& byteorder = "little") {
  std::vector<ZipItem> items{
      {.name = "archive/data.pkl", .data = "\x80\x02" + pickle + ".", .is_deflated = is_deflated},
      {.name = "archive/byteorder", .data = byteorder}};
  for (std::size_t i = 0; i < storages.size(); ++i) {
    items.push_back({.name = "archive/data/" + std::to_string(i), .data = storages[i], .is_deflated = is_deflated});
  }
  return build_zip(items);
}

auto tensors(const std::string& file) {
  return read_saved_tensors(blob_of(file), std::make_shared<InflateBudget>(file.size()));
}
auto leaves(const std::string& file) {
  return read_saved_leaves(blob_of(file), std::make_shared<InflateBudget>(file.size()));
}

std::string problem(const std::string& pickle, const std::vector<std::string>& storages = {}) {
  const auto read = tensors(saved(pickle, storages));
  return read ? "" : read.error().text();
}

TEST(TorchSave, ReadsTensorsByName) {
  for (const bool is_deflated : {false, true}) {
    const auto read = tensors(saved("}(" + text("a") + tensor("ShortStorage", "0", 6, {2, 3}, {3, 1}) + text("a.t") +
                                        tensor("ShortStorage", "0", 6, {3, 2}, {1, 3}) + text("b") +
                                        tensor("BoolStorage", "1", 2, {}, {}, 1) + "u",
                                    {"aabbccddeeff", "\0\1"s}, is_deflated));
    ASSERT_TRUE(read) << read.error().text();
    ASSERT_EQ(read->size(), 3u);
    EXPECT_EQ(contiguous_bytes(read->at("a")).text(), "aabbccddeeff");
    EXPECT_EQ(contiguous_bytes(read->at("a.t")).text(), "aaddbbeeccff");
    EXPECT_EQ(read->at("b").dtype, DType::kBool);
    EXPECT_EQ(contiguous_bytes(read->at("b")).text(), "\1");
  }
}

TEST(TorchSave, ReadsEveryStorageType) {
  const std::pair<const char*, DType> types[] = {
      {"FloatStorage", DType::kF32},     {"DoubleStorage", DType::kF64},       {"HalfStorage", DType::kF16},
      {"BFloat16Storage", DType::kBF16}, {"BoolStorage", DType::kBool},        {"ByteStorage", DType::kU8},
      {"CharStorage", DType::kI8},       {"ShortStorage", DType::kI16},        {"IntStorage", DType::kI32},
      {"LongStorage", DType::kI64},      {"ComplexFloatStorage", DType::kC64}, {"ComplexDoubleStorage", DType::kC128}};
  for (const auto& [name, dtype] : types) {
    const auto read =
        tensors(saved("}" + text("x") + tensor(name, "0", 2, {2}, {1}) + "s", {std::string(2 * size_of(dtype), 'x')}));
    ASSERT_TRUE(read) << name << read.error().text();
    EXPECT_EQ(read->at("x").dtype, dtype);
  }
}

TEST(TorchSave, RefusesTensorsThatDoNotFitTheirStorage) {
  EXPECT_THAT(problem("}" + text("x") + tensor("FloatStorage", "0", 2, {3}, {1}) + "s", {"01234567"}),
              HasSubstr("past the end"));
  EXPECT_THAT(problem("}" + text("x") + tensor("FloatStorage", "0", 4, {2}, {1}) + "s", {"01234567"}),
              HasSubstr("has 8 bytes; the pickle says 16"));
  EXPECT_THAT(problem("}" + text("x") + tensor("FloatStorage", "9", 2, {2}, {1}) + "s", {"01234567"}),
              HasSubstr("\"archive/data/9\", is missing"));
  EXPECT_THAT(problem("}" + text("x") + tensor("FloatStorage", "0", 2, {2}, {1, 1}) + "s", {"01234567"}),
              HasSubstr("tensor \"x\""));
}

TEST(TorchSave, RejectsValuesThatAreNotDictsOfTensors) {
  EXPECT_THAT(problem("N"), HasSubstr("expected a dict"));
  EXPECT_THAT(problem("}NNs"), HasSubstr("a string as the key"));
  EXPECT_THAT(problem("}" + text("x") + "Ns"), HasSubstr("\"x\" is not a tensor"));
  const std::string one = text("x") + tensor("ByteStorage", "0", 1, {1}, {1});
  EXPECT_THAT(problem("}(" + one + one + "u", {"a"}), HasSubstr("\"x\" occurs twice"));
  EXPECT_THAT(tensors(build_zip({})).error().text(), HasSubstr("no entry data.pkl"));
  EXPECT_THAT(tensors("junk").error().text(), HasSubstr("not a zip archive"));
  EXPECT_THAT(tensors(saved("}", {}, false, "big")).error().text(), HasSubstr("byteorder"));
}

TEST(TorchSave, FlattensLeavesInOrder) {
  // ((tensor, None, [True, 2]), {"k": 1.5, "s": "hi"})
  const auto read = leaves(saved("(" + tensor("ByteStorage", "0", 2, {2}, {1}) + "N](\x88K\x02" + "et}(" + text("k") +
                                     "G\x3f\xf8\0\0\0\0\0\0"s + text("s") + text("hi") + "u\x86",
                                 {"ab"}));
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->size(), 6u);
  EXPECT_EQ(contiguous_bytes(std::get<TensorView>((*read)[0])).text(), "ab");
  EXPECT_TRUE(std::holds_alternative<pt2::None>((*read)[1]));
  EXPECT_TRUE(std::get<bool>((*read)[2]));
  EXPECT_EQ(std::get<std::int64_t>((*read)[3]), 2);
  EXPECT_EQ(std::get<double>((*read)[4]), 1.5);
  EXPECT_EQ(std::get<pt2::Text>((*read)[5]).value, "hi");
}

TEST(TorchSave, BoundsTheWalkOverSharedAndCyclicValues) {
  std::string doubling = "((Nq\0"s;
  for (int i = 0; i < 60; ++i)
    doubling += "h"s + static_cast<char>(i) + "h" + static_cast<char>(i) + "\x86q" + static_cast<char>(i + 1);
  EXPECT_THAT(leaves(saved(doubling + "tt", {})).error().text(), HasSubstr("more than 65536 values"));
  EXPECT_THAT(leaves(saved("]q\0h\0a"s, {})).error().text(), HasSubstr("more than 65536 values"));
  EXPECT_THAT(leaves(saved("ctorch\nfloat32\n", {})).error().text(), HasSubstr("neither a tensor nor a plain value"));
}

}  // namespace
}  // namespace isthmus::torch_save_test
