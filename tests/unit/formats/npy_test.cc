// .npy and .npz files: every form NumPy writes, and those it does not.
#include "formats/npy.h"

#include <gmock/gmock.h>

#include <numeric>

#include "formats/npz.h"
#include "support/zip_builder.h"

namespace isthmus::npy_test {
namespace {

using test::blob_of;
using test::build_zip;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::string_literals;

std::string npy(const std::string& header, const std::string& data, int version = 1) {
  std::string out = "\x93NUMPY"s + static_cast<char>(version) + '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>(header.size() >> (8 * i));
  return out + header + data;
}

std::string header(const std::string& descr, const std::string& shape, bool is_fortran_order = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (is_fortran_order ? "True" : "False") +
         ", 'shape': " + shape + ", }   \n";
}

std::string bytes_up_to(int count) {
  std::string out(static_cast<std::size_t>(count), '\0');
  std::iota(out.begin(), out.end(), '\0');
  return out;
}

std::string problem(const std::string& file) {
  const auto tensor = read_npy(blob_of(file));
  return tensor ? "" : tensor.error().text();
}

std::string elements(const TensorView& tensor) { return std::string(contiguous_bytes(tensor).text()); }

TEST(Npy, ReadsAllVersionsInPlace) {
  for (const int version : {1, 2, 3}) {
    const Blob file = blob_of(npy(header("<f4", "(2, 3)"), bytes_up_to(24), version));
    const auto tensor = read_npy(file);
    ASSERT_TRUE(tensor) << tensor.error().text();
    EXPECT_EQ(tensor->dtype, DType::kF32);
    EXPECT_THAT(tensor->sizes, ElementsAre(2, 3));
    EXPECT_EQ(tensor->storage.bytes().data(), file.bytes().data() + file.size() - 24);
  }
}

TEST(Npy, ReadsEveryElementType) {
  const std::pair<const char*, DType> types[] = {
      {"|b1", DType::kBool}, {"|i1", DType::kI8},  {"<i2", DType::kI16}, {"<i4", DType::kI32},   {"<i8", DType::kI64},
      {"|u1", DType::kU8},   {"<u2", DType::kU16}, {"<u4", DType::kU32}, {"<u8", DType::kU64},   {"<f2", DType::kF16},
      {"<f4", DType::kF32},  {"<f8", DType::kF64}, {"<c8", DType::kC64}, {"<c16", DType::kC128},
  };
  for (const auto& [descr, dtype] : types) {
    const auto tensor =
        read_npy(blob_of(npy(header(descr, "(3,)"), bytes_up_to(3 * static_cast<int>(size_of(dtype))))));
    ASSERT_TRUE(tensor) << descr << tensor.error().text();
    EXPECT_EQ(tensor->dtype, dtype);
    const auto written = write_npy(*tensor);
    ASSERT_TRUE(written);
    EXPECT_EQ(written->size() % size_of(dtype), 0u);
    const auto again = read_npy(Blob::owning(*written));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->dtype, dtype);
    EXPECT_EQ(elements(*again), elements(*tensor));
  }
}

TEST(Npy, ReadsFortranOrder) {
  const auto tensor = read_npy(blob_of(npy(header("|u1", "(2, 3)", true), "\0\1\2\3\4\5"s)));
  ASSERT_TRUE(tensor);
  EXPECT_THAT(tensor->strides, ElementsAre(1, 2));
  EXPECT_EQ(elements(*tensor), "\0\2\4\1\3\5"s);
}

TEST(Npy, ReadsScalarsAndEmptyArrays) {
  EXPECT_EQ(read_npy(blob_of(npy(header("<f8", "()"), bytes_up_to(8))))->element_count(), 1);
  const auto empty = read_npy(blob_of(npy(header("<f8", "(3, 0, 5)"), "")));
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->element_count(), 0);
  EXPECT_THAT(empty->sizes, ElementsAre(3, 0, 5));
}

TEST(Npy, WritesAsNumPyDoes) {
  const auto tensor = read_npy(blob_of(npy(header("<i2", "(2,)"), "\1\0\2\0"s)));
  const auto written = write_npy(*tensor);
  ASSERT_TRUE(written);
  const Blob file = Blob::owning(*written);
  EXPECT_EQ(file.size(), 128u + 4);
  EXPECT_EQ(file.text().substr(0, 10), "\x93NUMPY\x01\x00\x76\x00"s);
  EXPECT_THAT(std::string(file.text()), HasSubstr("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), } "));
  EXPECT_EQ(file.text()[127], '\n');
  const auto bf16 = make_tensor_view(DType::kBF16, {1}, {1}, 0, blob_of("ab"));
  EXPECT_EQ(write_npy(*bf16).error().text(), "NumPy has no element type bf16");
}

TEST(Npy, RefusesWhatItDoesNotRead) {
  EXPECT_THAT(problem(""), HasSubstr("magic"));
  EXPECT_THAT(problem("\x93NUMPX\1\0"s), HasSubstr("magic"));
  EXPECT_THAT(problem("\x93NUMPY\4\0\0\0"s), HasSubstr("version 4"));
  EXPECT_THAT(problem("\x93NUMPY\1\0\xff\xff"s), HasSubstr("truncated"));
  EXPECT_THAT(problem("\x93NUMPY\2\0\xff\xff\xff\xff"s), HasSubstr("at most 65536"));
  EXPECT_THAT(problem(npy(header(">f4", "(1,)"), "abcd")), HasSubstr("big-endian"));
  EXPECT_THAT(problem(npy(header("|O", "(1,)"), "abcd")), HasSubstr("\"|O\" is not supported"));
  EXPECT_THAT(problem(npy(header("<f16", "(1,)"), "abcd")), HasSubstr("\"<f16\" is not supported"));
  EXPECT_THAT(problem(npy(header("?f4", "(1,)"), "abcd")), HasSubstr("not a NumPy type"));
  EXPECT_THAT(problem(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "abcd")),
              HasSubstr("structured"));
}

TEST(Npy, RefusesBrokenHeaders) {
  EXPECT_THAT(problem(npy("", "")), HasSubstr("expected '{'"));
  EXPECT_THAT(problem(npy("{}", "")), HasSubstr("descr, fortran_order and shape are expected"));
  EXPECT_THAT(problem(npy("{'descr': '<f4', 'descr': '<f4'}", "")), HasSubstr("occurs twice"));
  EXPECT_THAT(problem(npy("{'x': 1}", "")), HasSubstr("\"x\" is unknown"));
  EXPECT_THAT(problem(npy("{'descr", "")), HasSubstr("expected a string"));
  EXPECT_THAT(problem(npy("{'fortran_order': 1}", "")), HasSubstr("True or False"));
  EXPECT_THAT(problem(npy(header("<f4", "(1 2)"), "")), HasSubstr("comma"));
  EXPECT_THAT(problem(npy(header("<f4", "(-1,)"), "")), HasSubstr("negative"));
  EXPECT_THAT(problem(npy(header("<f4", "(99999999999999999999,)"), "")), HasSubstr("too large"));
  EXPECT_THAT(problem(npy(header("<f4", "(4611686018427387904, 4611686018427387904)"), "")), HasSubstr("overflows"));
  EXPECT_THAT(problem(npy(header("<f4", "(0, 4611686018427387904, 4611686018427387904)"), "")), HasSubstr("overflows"));
  EXPECT_THAT(problem(npy(header("<f4", "(9223372036854775807,)"), "")), HasSubstr("overflows"));
  EXPECT_THAT(problem(npy(header("<f4", "(2,)"), "abc")), HasSubstr("3 bytes of data, but shape (2) of f32 needs 8"));
  EXPECT_THAT(problem(npy(header("<f4", "(1,)"), "abcde")), HasSubstr("5 bytes of data"));
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1,";
  EXPECT_THAT(problem(npy(header("<f4", many + ")"), "abcd")), HasSubstr("more than 64 dimensions"));
}

TEST(Npy, EveryTruncationIsNoticed) {
  const std::string file = npy(header("<f4", "(2,)"), bytes_up_to(8));
  for (std::size_t size = 0; size < file.size(); ++size) EXPECT_NE(problem(file.substr(0, size)), "") << size;
}

// 100 rows of 3 elements of 2 bytes.
std::string hundred_rows(bool is_fortran_order = false) {
  return npy(header("<i2", "(100, 3)", is_fortran_order), bytes_up_to(600));
}

TEST(Npz, ListsItsArrays) {
  auto npz = Npz::open(
      blob_of(build_zip({{.name = "input_0.npy", .data = hundred_rows()},
                         {.name = "s.npy", .data = npy(header("<f8", "()"), bytes_up_to(8)), .is_deflated = true}})));
  ASSERT_TRUE(npz) << npz.error().text();
  ASSERT_EQ(npz->arrays().size(), 2u);
  EXPECT_EQ(npz->arrays()[0].name, "input_0");
  EXPECT_THAT(npz->arrays()[0].shape, ElementsAre(100, 3));
  EXPECT_EQ(npz->find("s")->dtype, DType::kF64);
  EXPECT_TRUE(npz->find("s")->is_compressed);
  EXPECT_EQ(npz->find("t"), nullptr);
  EXPECT_EQ(elements(*npz->read(*npz->find("s"))), bytes_up_to(8));
  EXPECT_THAT(npz->rows(*npz->find("s")).error().text(), HasSubstr("no first axis"));
}

TEST(Npz, GivesRowsStoredAndDeflatedAlike) {
  const std::string data = bytes_up_to(600);
  for (const bool is_deflated : {false, true}) {
    auto npz = Npz::open(blob_of(build_zip({{.name = "x.npy", .data = hundred_rows(), .is_deflated = is_deflated}})));
    ASSERT_TRUE(npz);
    auto rows = npz->rows(npz->arrays().front());
    ASSERT_TRUE(rows);
    EXPECT_EQ(rows->row_count(), 100);
    // Ascending, with a gap, back again, nothing, everything, the end.
    const std::pair<int, int> wanted[] = {{0, 7}, {7, 1}, {20, 5}, {3, 2}, {50, 0}, {0, 100}, {99, 1}, {100, 0}};
    for (const auto& [first, count] : wanted) {
      const auto part = rows->read(first, count);
      ASSERT_TRUE(part) << part.error().text();
      EXPECT_THAT(part->sizes, ElementsAre(count, 3));
      EXPECT_EQ(elements(*part), data.substr(static_cast<std::size_t>(first) * 6, static_cast<std::size_t>(count) * 6));
    }
    EXPECT_FALSE(rows->read(0, 101));
    EXPECT_FALSE(rows->read(-1, 1));
    EXPECT_FALSE(rows->read(101, 0));
    EXPECT_FALSE(rows->read(1, std::numeric_limits<std::int64_t>::max()));
  }
}

TEST(Npz, StoredRowsAreNotCopied) {
  const Blob file = blob_of(build_zip({{.name = "x.npy", .data = hundred_rows()}}));
  auto npz = Npz::open(file);
  const auto part = npz->rows(npz->arrays().front())->read(10, 20);
  ASSERT_TRUE(part);
  const Blob bytes = contiguous_bytes(*part);
  EXPECT_GE(bytes.bytes().data(), file.bytes().data());
  EXPECT_LT(bytes.bytes().data(), file.bytes().data() + file.size());
}

TEST(Npz, RowsOfFortranOrder) {
  std::string expected;
  for (const bool is_deflated : {false, true}) {
    auto npz =
        Npz::open(blob_of(build_zip({{.name = "x.npy", .data = hundred_rows(true), .is_deflated = is_deflated}})));
    auto rows = npz->rows(npz->arrays().front());
    ASSERT_TRUE(rows) << rows.error().text();
    const std::string part = elements(*rows->read(1, 1));
    const std::string data = bytes_up_to(600);
    EXPECT_EQ(part, data.substr(2, 2) + data.substr(202, 2) + data.substr(402, 2));
  }
}

TEST(Npz, RowsOfDamagedData) {
  for (const bool is_deflated : {false, true}) {
    std::string zip = build_zip({{.name = "x.npy", .data = hundred_rows(), .is_deflated = is_deflated, .crc32 = 7}});
    auto npz = Npz::open(blob_of(zip));
    ASSERT_TRUE(npz) << npz.error().text();
    EXPECT_THAT(npz->read(npz->arrays().front()).error().text(), HasSubstr("checksum"));
    auto rows = npz->rows(npz->arrays().front());
    ASSERT_TRUE(rows);
    EXPECT_TRUE(rows->read(0, 50));
    EXPECT_TRUE(rows->read(90, 9));
    EXPECT_THAT(rows->read(50, 50).error().text(), HasSubstr("checksum"));
  }
}

TEST(Npz, ListsArraysThatItDoesNotRead) {
  auto npz = Npz::open(blob_of(build_zip({{.name = "names.npy", .data = npy(header("<U2", "(1,)"), bytes_up_to(8))},
                                          {.name = "x.npy", .data = hundred_rows(true)}})));
  ASSERT_TRUE(npz) << npz.error().text();
  const NpzArray& names = *npz->find("names");
  ASSERT_TRUE(names.unsupported);
  EXPECT_THAT(npz->read(names).error().text(), HasSubstr("\"<U2\" is not supported"));
  EXPECT_THAT(npz->rows(names).error().text(), HasSubstr("in array \"names.npy\""));
  EXPECT_FALSE(npz->find("x")->unsupported);
  EXPECT_TRUE(npz->find("x")->is_fortran_order);
}

TEST(Npz, RefusesOtherEntriesAndBrokenArrays) {
  EXPECT_THAT(Npz::open(blob_of(build_zip({{.name = "x.txt"}}))).error().text(),
              HasSubstr("expected every entry of an .npz file"));
  EXPECT_THAT(Npz::open(blob_of(build_zip({{.name = "x.npy", .data = "abc"}}))).error().text(),
              HasSubstr("in array \"x.npy\""));
  EXPECT_THAT(
      Npz::open(blob_of(build_zip({{.name = "x.npy", .data = hundred_rows().substr(0, 300), .is_deflated = true}})))
          .error()
          .text(),
      HasSubstr("bytes of data"));
  EXPECT_FALSE(RowReader::over(*read_npy(blob_of(npy(header("<f8", "()"), bytes_up_to(8))))));
}

}  // namespace
}  // namespace isthmus::npy_test
