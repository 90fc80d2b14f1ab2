// Calibration data: every form in which it may come, and every one in which it may not.
#include "calibrate/samples.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>

#include "base/mapped_file.h"
#include "calibrate/finite.h"
#include "formats/npy.h"
#include "ir/text.h"
#include "support/calls.h"
#include "support/files.h"
#include "support/models.h"
#include "support/zip_builder.h"

namespace isthmus::samples_test {
namespace {

namespace fs = std::filesystem;
using test::build_zip;
using test::floats;
using test::numbers;
using test::tensor;
using test::ZipItem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A graph of these lines that begin with "input" or "symbol".
Graph graph_of(const std::string& lines) {
  auto graph = parse_graph("graph\n" + lines + "\n  return\n");
  CHECK(graph.has_value(), graph ? "" : graph.error().text());
  return *std::move(graph);
}

std::string npy_bytes(const Tensor& array) {
  const auto bytes = write_npy(array.view());
  CHECK(bytes.has_value(), "a test writes what NumPy has");
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

// An array with a foreign header.
std::string npy_of(const std::string& descr, bool is_fortran_order, const std::string& shape, const std::string& data) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + (is_fortran_order ? "True" : "False") +
                       ", 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header + data;
}

// 0, 1, 2, ...
Tensor counting(std::vector<std::int64_t> sizes) {
  Tensor result(DType::kF32, std::move(sizes));
  const auto data = result.mutable_data<float>();
  std::iota(data.begin(), data.end(), 0.0F);
  return result;
}

struct Named {
  std::string name;
  Tensor array;
};

class SamplesTest : public test::FolderTest {
 protected:
  std::string write_npz(const std::vector<Named>& arrays, bool is_deflated = false,
                        const std::string& name = "data.npz") const {
    std::vector<ZipItem> items;
    for (const auto& [array, content] : arrays) {
      items.push_back({.name = array + ".npy", .data = npy_bytes(content), .is_deflated = is_deflated});
    }
    return write(name, build_zip(items));
  }

  // All samples, or the error that ended them.
  Expected<std::vector<std::vector<Tensor>>> read(const std::string& path, const Graph& graph,
                                                  const SampleOptions& options = {}) {
    auto samples = TRY(open_samples(path, graph, options, diagnostics_));
    std::vector<std::vector<Tensor>> all;
    while (auto sample = TRY(samples->next())) all.push_back(*std::move(sample));
    EXPECT_EQ(samples->count(), all.size());
    EXPECT_FALSE(samples->next().value().has_value());
    return all;
  }
  std::string problem(const std::string& path, const Graph& graph, const SampleOptions& options = {}) {
    const auto all = read(path, graph, options);
    return all ? "" : all.error().text();
  }
  // The problem of an .npz file of these arrays, without the line that names the file.
  std::string problem_of(const std::vector<Named>& arrays, const std::string& lines) {
    const std::string path = write_npz(arrays);
    const std::string text = problem(path, graph_of(lines));
    const std::string place = "\n  in " + path;
    EXPECT_TRUE(text.ends_with(place)) << text;
    return text.substr(0, text.size() - std::min(text.size(), place.size()));
  }

  Diagnostics diagnostics_;
};

using SamplesOfNpz = SamplesTest;
using SamplesOfFolder = SamplesTest;

TEST_F(SamplesOfNpz, RowsAreSamplesWithOrWithoutTheBatchAxis) {
  const Graph graph = graph_of("  input %x : f32[1,2]");
  for (const bool is_deflated : {false, true}) {
    for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{3, 2}, {3, 1, 2}}) {
      const auto all = read(write_npz({{"x", counting(sizes)}}, is_deflated), graph);
      ASSERT_TRUE(all) << all.error().text();
      ASSERT_THAT(*all, SizeIs(3));
      for (std::size_t i = 0; i < 3; ++i) {
        ASSERT_THAT((*all)[i], SizeIs(1));
        EXPECT_THAT((*all)[i][0].sizes(), ElementsAre(1, 2));
        EXPECT_THAT(numbers<float>((*all)[i][0]),
                    ElementsAre(2 * static_cast<float>(i), 2 * static_cast<float>(i) + 1));
      }
    }
  }
  EXPECT_THAT(diagnostics_.entries(), IsEmpty());
}

TEST_F(SamplesOfNpz, ArraysGoByNameOrAllByNumber) {
  const Graph graph = graph_of("  input %b : f32[1,1]\n  input %a : f32[1,1]");
  const Tensor one = floats({1, 1}, {1}), two = floats({1, 1}, {2});
  const auto first = [&](const std::vector<Named>& arrays, const Graph& wanted) {
    const auto all = read(write_npz(arrays), wanted);
    return all ? numbers<float>(all->at(0).at(0)).at(0) : -1;
  };
  EXPECT_EQ(first({{"a", one}, {"b", two}}, graph), 2);
  EXPECT_EQ(first({{"input_1", one}, {"input_0", two}}, graph), 2);
  // Names come before numbers, and the two are not mixed.
  const Graph misnamed = graph_of("  input %input_1 : f32[1,1]\n  input %input_0 : f32[1,1]");
  EXPECT_EQ(first({{"input_0", one}, {"input_1", two}}, misnamed), 2);
  EXPECT_EQ(problem_of({{"b", one}, {"input_1", two}, {"labels", one}}, "  input %b : f32[1,1]\n  input %a : f32[1,1]"),
            "no array for input a: expected arrays named b, a, or input_0, input_1; the file has \"b\" f32[1,1], "
            "\"input_1\" f32[1,1], \"labels\" f32[1,1]");
}

TEST_F(SamplesOfNpz, FixedBatchesTakeConsecutiveRows) {
  const Graph graph = graph_of("  input %x : f32[3,2]");
  const auto all = read(write_npz({{"x", counting({7, 2})}}, true), graph);
  ASSERT_TRUE(all) << all.error().text();
  ASSERT_THAT(*all, SizeIs(2));
  EXPECT_THAT((*all)[1][0].sizes(), ElementsAre(3, 2));
  EXPECT_THAT(numbers<float>((*all)[1][0]), ElementsAre(6, 7, 8, 9, 10, 11));
  ASSERT_THAT(diagnostics_.entries(), SizeIs(1));
  EXPECT_EQ(diagnostics_.entries()[0].severity, Severity::kWarning);
  EXPECT_EQ(diagnostics_.entries()[0].code, "samples-left-out");
  EXPECT_EQ(diagnostics_.entries()[0].node, "x");
  EXPECT_EQ(diagnostics_.entries()[0].text, "array \"x\" of " + (folder_ / "data.npz").string() +
                                                ": 7 rows make 2 samples of 3; the last 1 are not used");

  const auto whole = read(write_npz({{"x", counting({2, 3, 2})}}), graph);
  ASSERT_TRUE(whole) << whole.error().text();
  EXPECT_THAT(numbers<float>((*whole)[1][0]), ElementsAre(6, 7, 8, 9, 10, 11));
  EXPECT_EQ(problem_of({{"x", counting({6, 1, 2})}}, "  input %x : f32[3,2]"),
            "array \"x\" is f32[6,1,2], but input x takes f32[N,2] or f32[N,3,2], where N counts samples");
}

TEST_F(SamplesOfNpz, SymbolicBatchesUseTheSmallestAllowedSize) {
  const auto sizes = [&](const std::string& symbol, const std::string& first, std::vector<std::int64_t> array) {
    const Graph graph = graph_of("  symbol " + symbol + "\n  input %x : f32[" + first + ",2]");
    const auto all = read(write_npz({{"x", counting(std::move(array))}}), graph);
    EXPECT_TRUE(all) << all.error().text();
    return std::pair(all ? all->size() : 0, all ? all->at(0).at(0).size(0) : 0);
  };
  using Found = std::pair<std::size_t, std::int64_t>;
  EXPECT_EQ(sizes("s0 in [1,64]", "s0", {6, 2}), Found(6, 1));
  EXPECT_EQ(sizes("s0 in [0,]", "s0", {6, 2}), Found(6, 1));
  EXPECT_EQ(sizes("s0 in [2,]", "s0", {6, 2}), Found(3, 2));
  EXPECT_EQ(sizes("s0 in [1,64]", "3*s0", {6, 2}), Found(2, 3));
  EXPECT_EQ(sizes("s0 in [1,64]", "s0", {6, 5, 2}), Found(6, 5));  // the array says how large batches are
}

TEST_F(SamplesOfNpz, SymbolsAgreeBetweenInputsAndLieWithinBounds) {
  const std::string lines =
      "  symbol b in [1,8]\n  symbol h in [2,4]\n  input %x : f32[b,h,2*h]\n  input %y : f32[b,h]";
  const Graph graph = graph_of(lines);
  const auto all = read(write_npz({{"x", counting({4, 3, 6})}, {"y", counting({4, 3})}}), graph);
  ASSERT_TRUE(all) << all.error().text();
  ASSERT_THAT(*all, SizeIs(4));
  EXPECT_THAT((*all)[0][0].sizes(), ElementsAre(1, 3, 6));
  EXPECT_THAT((*all)[0][1].sizes(), ElementsAre(1, 3));
  EXPECT_EQ(problem_of({{"x", counting({4, 3, 6})}, {"y", counting({4, 2})}}, lines),
            "input 1 (y) is f32[1,2], expected f32[b,h]\n"
            "  in array \"x\" is f32[4,3,6], array \"y\" is f32[4,2]");
  EXPECT_THAT(problem_of({{"x", counting({4, 3, 5})}, {"y", counting({4, 3})}}, lines),
              HasSubstr("input 0 (x) is f32[1,3,5], expected f32[b,h,2*h]"));
  EXPECT_THAT(problem_of({{"x", counting({4, 5, 10})}, {"y", counting({4, 5})}}, lines),
              AllOf(HasSubstr("h = 5"), HasSubstr("(2..4)"), HasSubstr("array \"x\" is f32[4,5,10]")));
  // One array has batches of two, so the other one's rows go by two as well.
  const auto mixed = read(write_npz({{"x", counting({4, 3, 6})}, {"y", counting({2, 2, 3})}}), graph);
  ASSERT_TRUE(mixed) << mixed.error().text();
  ASSERT_THAT(*mixed, SizeIs(2));
  EXPECT_THAT((*mixed)[1][0].sizes(), ElementsAre(2, 3, 6));
  EXPECT_THAT((*mixed)[1][1].sizes(), ElementsAre(2, 3));
  EXPECT_THAT(numbers<float>((*mixed)[1][1]), ElementsAre(6, 7, 8, 9, 10, 11));
}

TEST_F(SamplesOfNpz, InputsWithoutAxes) {
  const auto all = read(write_npz({{"x", counting({3})}}), graph_of("  input %x : f32[]"));
  ASSERT_TRUE(all) << all.error().text();
  ASSERT_THAT(*all, SizeIs(3));
  EXPECT_THAT((*all)[2][0].sizes(), IsEmpty());
  EXPECT_THAT(numbers<float>((*all)[2][0]), ElementsAre(2));
  EXPECT_EQ(problem_of({{"x", counting({3, 1})}}, "  input %x : f32[]"),
            "array \"x\" is f32[3,1], but input x takes f32[N], where N counts samples");
}

TEST_F(SamplesOfNpz, IntegersBoolsAndHalvesAreReadUnchanged) {
  const Graph graph = graph_of("  input %i : i64[1]\n  input %b : bool[1,2]\n  input %h : f16[1]\n  input %u : u8[1]");
  const std::string bools = npy_of("|b1", false, "(2, 2)", std::string("\0\1\2\0", 4));
  const std::string halves = npy_of("<f2", false, "(2,)", std::string("\0\x3c\0\x40", 4));
  const auto all =
      read(write("data.npz", build_zip({{.name = "i.npy", .data = npy_bytes(tensor<std::int64_t>({2}, {-7, 9}))},
                                        {.name = "b.npy", .data = bools},
                                        {.name = "h.npy", .data = halves},
                                        {.name = "u.npy", .data = npy_bytes(tensor<std::uint8_t>({2}, {4, 200}))}})),
           graph);
  ASSERT_TRUE(all) << all.error().text();
  ASSERT_THAT(*all, SizeIs(2));
  EXPECT_THAT(numbers<std::int64_t>((*all)[1][0]), ElementsAre(9));
  EXPECT_EQ((*all)[1][1].dtype(), DType::kBool);
  EXPECT_THAT(numbers<std::uint8_t>((*all)[1][1]), ElementsAre(1, 0));
  EXPECT_THAT(test::doubles((*all)[1][2]), ElementsAre(2.0));
  EXPECT_THAT(numbers<std::uint8_t>((*all)[1][3]), ElementsAre(200));
  EXPECT_THAT(diagnostics_.entries(), IsEmpty());
}

TEST_F(SamplesOfNpz, DoublesAreRoundedWithANote) {
  const auto all = read(write_npz({{"x", tensor<double>({2, 1}, {0.1, 1e300})}}), graph_of("  input %x : f32[1,1]"));
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_THAT(numbers<float>((*all)[0][0]), ElementsAre(0.1F));
  EXPECT_THAT(numbers<float>((*all)[1][0]), ElementsAre(std::numeric_limits<float>::infinity()));
  ASSERT_THAT(diagnostics_.entries(), SizeIs(1));
  EXPECT_EQ(diagnostics_.entries()[0].severity, Severity::kNote);
  EXPECT_EQ(diagnostics_.entries()[0].code, "sample-converted");
  EXPECT_EQ(diagnostics_.entries()[0].node, "x");
  EXPECT_EQ(diagnostics_.entries()[0].text, "array \"x\" is f64 and is converted to f32, the type of input x");
}

TEST_F(SamplesOfNpz, FloatsBecomeTheBfloatsThatNumPyLacks) {
  const auto all = read(write_npz({{"x", floats({2, 1}, {1.5F, -2})}}), graph_of("  input %x : bf16[1,1]"));
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ((*all)[1][0].dtype(), DType::kBF16);
  EXPECT_THAT(test::doubles((*all)[0][0]), ElementsAre(1.5));
  EXPECT_THAT(diagnostics_.entries(), SizeIs(1));
}

TEST_F(SamplesOfNpz, OtherTypesAreRefused) {
  EXPECT_EQ(problem_of({{"x", Tensor(DType::kU8, {4, 2})}}, "  input %x : f32[1,2]"),
            "array \"x\" is u8, but input x takes f32: scale it as in training and save it as f32");
  EXPECT_EQ(problem_of({{"x", Tensor(DType::kI32, {4, 2})}}, "  input %x : i64[1,2]"),
            "array \"x\" is i32, but input x takes i64: save it as i64");
  EXPECT_THAT(problem_of({{"x", Tensor(DType::kF32, {4, 2})}}, "  input %x : i64[1,2]"), HasSubstr("save it as i64"));
  EXPECT_THAT(problem_of({{"x", Tensor(DType::kF32, {4, 2})}}, "  input %x : f64[1,2]"), HasSubstr("save it as f64"));
  EXPECT_THAT(problem_of({{"x", Tensor(DType::kF64, {4, 2})}}, "  input %x : f16[1,2]"), HasSubstr("save it as f16"));
  EXPECT_THAT(problem_of({{"x", Tensor(DType::kU8, {4, 2})}}, "  input %x : bool[1,2]"), HasSubstr("save it as bool"));
}

TEST_F(SamplesOfNpz, OtherArraysAreIgnoredWhateverTheyAre) {
  const std::string text = npy_of("<U1", false, "(3,)", "abcabcabcabc");
  const std::string objects = npy_of("|O", false, "(1,)", "........");
  const auto archive = [&](const std::string& input) {
    return write("data.npz", build_zip({{.name = "classes.npy", .data = text},
                                        {.name = "x.npy", .data = input},
                                        {.name = "meta.npy", .data = objects, .is_deflated = true},
                                        {.name = "labels.npy", .data = npy_bytes(counting({5})), .crc32 = 7}}));
  };
  const Graph graph = graph_of("  input %x : f32[1,2]");
  const auto all = read(archive(npy_bytes(counting({3, 2}))), graph);
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_THAT(*all, SizeIs(3));
  EXPECT_THAT(problem(archive(objects), graph),
              AllOf(HasSubstr("\"|O\" is not supported"), HasSubstr("array \"x.npy\"")));
}

TEST_F(SamplesOfNpz, RefusesShapesThatDoNotFit) {
  const std::string lines = "  input %x : f32[1,3,2]";
  EXPECT_EQ(problem_of({{"x", counting({4, 3, 1})}}, lines),
            "array \"x\" is f32[4,3,1], but input x takes f32[N,3,2] or f32[N,1,3,2], where N counts samples");
  EXPECT_THAT(problem_of({{"x", counting({4, 2, 3, 2})}}, lines), HasSubstr("array \"x\" is f32[4,2,3,2], but"));
  EXPECT_THAT(problem_of({{"x", counting({3, 2})}}, lines), HasSubstr("array \"x\" is f32[3,2], but"));
  EXPECT_THAT(problem_of({{"x", counting({})}}, lines), HasSubstr("array \"x\" is f32[], but"));
  EXPECT_THAT(problem_of({{"x", counting({1, 1, 1, 3, 2})}}, lines), HasSubstr("f32[1,1,1,3,2], but"));
  EXPECT_THAT(problem_of({{"x", counting({4, 3, 1})}}, "  symbol h in [2,9]\n  input %x : f32[1,3,1,h]"),
              HasSubstr("takes f32[N,3,1,h] or f32[N,1,3,1,h]"));
}

TEST_F(SamplesOfNpz, SaysHowAxesWouldFit) {
  const std::string lines = "  input %x : f32[1,3,4,4]";
  const std::string nhwc =
      "; its axes seem to be permuted, channels-last (NHWC) where the model expects channels-first (NCHW): "
      "save it as numpy.transpose(x, ";
  EXPECT_THAT(problem_of({{"x", counting({5, 4, 4, 3})}}, lines), HasSubstr(nhwc + "(0, 3, 1, 2))"));
  EXPECT_THAT(problem_of({{"x", counting({5, 1, 4, 4, 3})}}, lines), HasSubstr(nhwc + "(0, 1, 4, 2, 3))"));
  EXPECT_THAT(problem_of({{"x", counting({5, 3, 8})}}, "  input %x : f32[1,8,3]"),
              AllOf(HasSubstr("numpy.transpose(x, (0, 2, 1))"), testing::Not(HasSubstr("NHWC"))));
  EXPECT_THAT(problem_of({{"x", counting({5, 4, 4, 2})}}, lines), testing::Not(HasSubstr("transpose")));
}

TEST_F(SamplesOfNpz, NanSamplesAreRejectedByIndexAndInput) {
  const Graph graph = graph_of("  input %a : f32[1,2]\n  input %x : f32[1,2]");
  Tensor numbers = counting({3, 2});
  numbers.mutable_data<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  const std::string path = write_npz({{"a", counting({3, 2})}, {"x", numbers}});
  auto source = open_samples(path, graph, {}, diagnostics_);
  ASSERT_TRUE(source) << source.error().text();
  const auto samples = finite_samples(*std::move(source), graph);
  EXPECT_TRUE(samples->next());
  EXPECT_TRUE(samples->next());
  const auto refused = samples->next();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("sample 2 of input 1 (x) has 1 NaN and 0 infinite values"));
}

TEST_F(SamplesOfNpz, RefusesToHaveNoSamples) {
  EXPECT_EQ(problem_of({{"x", counting({0, 2})}}, "  input %x : f32[1,2]"),
            "array \"x\" has 0 rows: too few for one sample");
  EXPECT_EQ(problem_of({{"x", counting({3, 2})}}, "  input %x : f32[4,2]"),
            "array \"x\" has 3 rows for samples of 4: too few for one sample");
  EXPECT_EQ(problem_of({{"x", counting({0, 4, 2})}}, "  input %x : f32[4,2]"),
            "array \"x\" has 0 rows: too few for one sample");
  // As many samples as one likes would cost no byte.
  const std::string endless = npy_of("<f4", false, "(1152921504606846976, 0)", "");
  const Graph graph = graph_of("  symbol h in [0,9]\n  input %x : f32[1,h]");
  EXPECT_THAT(problem(write("data.npz", build_zip({{.name = "x.npy", .data = endless}})), graph),
              HasSubstr("array \"x\" is f32[1152921504606846976,0]: a sample is empty"));
  EXPECT_THAT(problem(write_npz({{"x", counting({3, 2})}}), graph_of("  input %x : f32[1,2]"), {.limit = 0}),
              HasSubstr("at least 1 is needed"));
  EXPECT_THAT(problem_of({}, "  input %x : f32[1,2]"), HasSubstr("the file has none"));
}

TEST_F(SamplesOfNpz, RefusesArraysOfDifferentLength) {
  const std::string lines = "  input %x : f32[2,2]\n  input %y : f32[2,3]";
  EXPECT_EQ(problem_of({{"x", counting({8, 2})}, {"y", counting({9, 3})}}, lines),
            "array \"x\" has 8 rows for samples of 2 and array \"y\" has 9 rows for samples of 2: all arrays need the "
            "same number of samples");
  EXPECT_EQ(
      problem_of({{"x", counting({8, 2})}, {"y", counting({8, 2, 3})}}, lines),
      "array \"x\" has 8 rows for samples of 2 and array \"y\" has 8 rows: all arrays need the same number of samples");
  const auto all = read(write_npz({{"x", counting({8, 2})}, {"y", counting({4, 2, 3})}}), graph_of(lines));
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_THAT(*all, SizeIs(4));
}

TEST_F(SamplesOfNpz, RefusesFortranOrder) {
  const Graph graph = graph_of("  input %x : i8[1,2]");
  for (const bool is_deflated : {false, true}) {
    const std::string array = npy_of("|i1", true, "(3, 2)", "abcdef");
    EXPECT_THAT(
        problem(write("data.npz", build_zip({{.name = "x.npy", .data = array, .is_deflated = is_deflated}})), graph),
        AllOf(HasSubstr("array \"x\" is in Fortran order"), HasSubstr("ascontiguousarray")));
  }
}

TEST_F(SamplesOfNpz, DamageIsFoundWhenTheLastByteIsRead) {
  const Graph graph = graph_of("  input %x : f32[1,2]");
  for (const bool is_deflated : {false, true}) {
    const std::string path = write(
        "data.npz",
        build_zip({{.name = "x.npy", .data = npy_bytes(counting({3, 2})), .is_deflated = is_deflated, .crc32 = 7}}));
    auto samples = open_samples(path, graph, {}, diagnostics_);
    ASSERT_TRUE(samples) << samples.error().text();
    EXPECT_TRUE((*samples)->next());
    EXPECT_TRUE((*samples)->next());
    const auto last = (*samples)->next();
    ASSERT_FALSE(last);
    EXPECT_THAT(last.error().text(), AllOf(HasSubstr("zip entry \"x.npy\": its checksum is"), HasSubstr("array \"x\""),
                                           HasSubstr("sample 2 of " + path)));
    EXPECT_EQ(problem(path, graph, {.limit = 2}), "");
  }
}

TEST_F(SamplesOfNpz, TruncationsAndByteChangesNeverCrash) {
  const Graph graph = graph_of("  input %x : u8[1,8]");
  const std::string array = npy_of("|u1", false, "(3, 8)", "every one of these bytes");
  for (const bool is_deflated : {false, true}) {
    const std::string whole = build_zip({{.name = "x.npy", .data = array, .is_deflated = is_deflated}});
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_NE(problem(write("data.npz", whole.substr(0, size)), graph), "") << size;
    }
    const std::size_t directory = whole.find("PK\x01\x02");
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
      const std::string text = problem(write("data.npz", damaged), graph);
      const bool is_data = !is_deflated && at >= directory - 24 && at < directory;
      EXPECT_TRUE(!is_data || text.find("checksum") != std::string::npos) << at << text;
    }
  }
}

TEST_F(SamplesOfNpz, TakesAtMostTheFirstSamples) {
  const Graph graph = graph_of("  input %x : f32[3,1]");
  const std::string path = write_npz({{"x", counting({10, 1})}});
  const auto two = read(path, graph, {.limit = 2});
  ASSERT_TRUE(two) << two.error().text();
  ASSERT_THAT(*two, SizeIs(2));
  EXPECT_THAT(numbers<float>((*two)[1][0]), ElementsAre(3, 4, 5));
  EXPECT_THAT(diagnostics_.entries(), IsEmpty());  // what is left over was not wanted
  EXPECT_THAT(*read(path, graph, {.limit = 100}), SizeIs(3));
  EXPECT_THAT(diagnostics_.entries(), SizeIs(1));
}

// Bytes that hardly compress, behind a header and a directory that claim far more of them.
std::string overstated(const std::string& shape, std::uint32_t claimed_bytes) {
  std::string data;
  std::minstd_rand random(1);
  while (data.size() < 500'000) data += static_cast<char>(random() >> 8);
  const std::string array = npy_of("<f4", false, shape, data);
  const auto header_bytes = static_cast<std::uint32_t>(array.size() - data.size());
  return build_zip({{.name = "x.npy", .data = array, .is_deflated = true, .size = header_bytes + claimed_bytes}});
}

TEST_F(SamplesOfNpz, CompressedArraysAreInflatedSampleBySample) {
  // 400 million bytes: more than a file of this size may inflate to at once.
  const std::string path = write("data.npz", overstated("(4000, 25000)", 400'000'000));
  const Graph graph = graph_of("  input %x : f32[1,25000]");
  EXPECT_EQ(problem(path, graph, {.limit = 5}), "");
  EXPECT_THAT(problem(path, graph, {.limit = 6}), HasSubstr("it inflates to"));
}

TEST_F(SamplesOfNpz, SmallFilesWithHugeSampleCountsAreRejected) {
  const std::string path = write("data.npz", overstated("(1, 100000000)", 400'000'000));
  const Graph graph = graph_of("  symbol h in [1,]\n  input %x : f32[1,h]");
  EXPECT_THAT(problem(path, graph),
              AllOf(HasSubstr("inflating 400000000"), HasSubstr("array \"x\" is f32[1,100000000]")));
}

// Memory of this program that is pages of files.
std::size_t file_pages_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t kib = 0;
    if (word == "RssFile:" && status >> kib) return kib;
  }
  return 0;
}

TEST_F(SamplesOfNpz, PagesOfConsumedSamplesAreReleased) {
  const Graph graph = graph_of("  input %x : f32[1,65536]");
  const std::string path = write_npz({{"x", counting({128, 65536})}});  // 32 MiB
  auto samples = open_samples(path, graph, {}, diagnostics_);
  ASSERT_TRUE(samples) << samples.error().text();
  const std::size_t before = file_pages_kib();
  std::size_t max = 0;
  float last = 0;
  while (auto sample = (*samples)->next().value()) {
    last = sample->at(0).data<float>().back();
    max = std::max(max, file_pages_kib());
  }
  EXPECT_EQ(last, 128 * 65536 - 1);
  EXPECT_GT(before, 0u);
  EXPECT_LT(max, before + 8 * 1024);
}

TEST_F(SamplesOfNpz, ReleasedPagesAreReadAgain) {
  const auto file = MappedFile::open(write("bytes", std::string(100'000, 'x')));
  ASSERT_TRUE(file);
  const Blob part = *file->bytes().part(50'000, 1000);
  EXPECT_EQ(part.text(), std::string(1000, 'x'));
  file->forget_pages();
  EXPECT_EQ(part.text(), std::string(1000, 'x'));
  const auto empty = MappedFile::open(write("empty", ""));
  ASSERT_TRUE(empty);
  empty->forget_pages();
  EXPECT_EQ(empty->bytes().size(), 0u);
}

TEST_F(SamplesOfFolder, FilesAreSamplesInTheOrderOfTheirNames) {
  const Graph graph = graph_of("  input %x : f32[1,2]");
  write("data/b.npy", npy_bytes(floats({1, 2}, {3, 4})));
  write("data/a.npy", npy_bytes(floats({2}, {1, 2})));
  write_npz({{"x", floats({1, 2}, {5, 6})}, {"labels", floats({}, {0})}}, true, "data/c.npz");
  write_npz({{"input_0", floats({2}, {7, 8})}}, false, "data/d.npz");
  write("data/e.npy", npy_of("<f4", true, "(1, 2)", npy_bytes(floats({2}, {9, 10})).substr(128)));
  write("data/readme.txt", "not a sample");
  write("data/._a.npy", "nor is this");
  const auto all = read((folder_ / "data").string(), graph);
  ASSERT_TRUE(all) << all.error().text();
  ASSERT_THAT(*all, SizeIs(5));
  for (std::size_t i = 0; i < all->size(); ++i) {
    EXPECT_THAT((*all)[i][0].sizes(), ElementsAre(1, 2));
    EXPECT_THAT(numbers<float>((*all)[i][0]),
                ElementsAre(2 * static_cast<float>(i) + 1, 2 * static_cast<float>(i) + 2));
  }
  EXPECT_THAT(*read((folder_ / "data").string(), graph, {.limit = 2}), SizeIs(2));
  EXPECT_THAT(diagnostics_.entries(), IsEmpty());
}

TEST_F(SamplesOfFolder, SeveralInputsComeInNpzFiles) {
  const std::string lines = "  symbol b in [1,8]\n  symbol h in [2,4]\n  input %x : i32[b,h]\n  input %y : f32[b,h,2]";
  const Graph graph = graph_of(lines);
  write_npz({{"y", counting({2, 2})}, {"x", tensor<std::int32_t>({2}, {1, 2})}}, true, "data/a.npz");
  write_npz({{"x", Tensor(DType::kI32, {5, 3})}, {"y", counting({5, 3, 2})}}, false, "data/b.npz");
  const auto all = read((folder_ / "data").string(), graph);
  ASSERT_TRUE(all) << all.error().text();
  ASSERT_THAT(*all, SizeIs(2));
  EXPECT_THAT((*all)[0][0].sizes(), ElementsAre(1, 2));
  EXPECT_THAT((*all)[0][1].sizes(), ElementsAre(1, 2, 2));
  EXPECT_THAT((*all)[1][1].sizes(), ElementsAre(5, 3, 2));

  const std::string file =
      write_npz({{"x", Tensor(DType::kI32, {5, 3})}, {"y", counting({5, 4, 2})}}, false, "data/c.npz");
  EXPECT_THAT(problem((folder_ / "data").string(), graph),
              AllOf(HasSubstr("input 1 (y) is f32[5,4,2], expected f32[b,h,2]"), HasSubstr("in " + file)));
  fs::remove(file);
  write("data/d.npy", npy_bytes(counting({1, 2})));
  EXPECT_THAT(problem((folder_ / "data").string(), graph),
              HasSubstr("the model has 2 inputs, but an .npy file has one array: use .npz files"));
}

TEST_F(SamplesOfFolder, BatchesAreWholeInEachFile) {
  const Graph graph = graph_of("  input %x : f32[3,2]");
  const std::string file = write("data/a.npy", npy_bytes(counting({3, 2})));
  EXPECT_EQ(problem((folder_ / "data").string(), graph), "");
  const std::string other = write("data/b.npy", npy_bytes(counting({2})));
  EXPECT_EQ(problem((folder_ / "data").string(), graph),
            "the array is f32[2], but input x takes f32[3,2]\n  in " + other);
  write("data/b.npy", npy_bytes(counting({1, 3, 2})));
  EXPECT_THAT(problem((folder_ / "data").string(), graph), HasSubstr("is f32[1,3,2], but input x takes f32[3,2]"));
  EXPECT_THAT(problem((folder_ / "data").string(), graph_of("  symbol b in [2,9]\n  input %x : f32[b,3,2]")),
              HasSubstr("is f32[3,2], but input x takes f32[3,2] or f32[b,3,2]\n  in " + file));
}

TEST_F(SamplesOfFolder, NotesAConversionOnce) {
  write("data/a.npy", npy_bytes(tensor<double>({1}, {1})));
  write("data/b.npy", npy_bytes(tensor<double>({1}, {2})));
  const auto all = read((folder_ / "data").string(), graph_of("  input %x : f32[1]"));
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_THAT(numbers<float>((*all)[1][0]), ElementsAre(2));
  EXPECT_THAT(diagnostics_.entries(), SizeIs(1));
}

TEST_F(SamplesOfFolder, RefusesBrokenFilesByName) {
  const Graph graph = graph_of("  input %x : f32[1,2]");
  write("data/a.npy", npy_bytes(counting({1, 2})));
  const std::string whole = npy_bytes(counting({1, 2}));
  const std::string file = write("data/b.npy", whole.substr(0, whole.size() - 1));
  const auto refused = [&] { return problem((folder_ / "data").string(), graph); };
  EXPECT_THAT(refused(), AllOf(HasSubstr("7 bytes of data"), HasSubstr("in " + file)));
  write("data/b.npy", npy_bytes(Tensor(DType::kU8, {1, 2})));
  EXPECT_THAT(refused(), AllOf(HasSubstr("the array is u8, but input x takes f32"), HasSubstr("in " + file)));
  fs::remove(file);
  for (const bool is_deflated : {false, true}) {
    const std::string archive =
        write("data/c.npz", build_zip({{.name = "x.npy", .data = whole, .is_deflated = is_deflated, .crc32 = 7}}));
    EXPECT_THAT(refused(), AllOf(HasSubstr("its checksum is"), HasSubstr("in " + archive)));
  }
  write("data/c.npz", "PK");
  EXPECT_THAT(refused(), HasSubstr("not a zip archive"));
}

TEST_F(SamplesOfFolder, RefusesOtherPaths) {
  const Graph graph = graph_of("  input %x : f32[1,2]");
  fs::create_directories(folder_ / "empty");
  EXPECT_THAT(problem((folder_ / "empty").string(), graph),
              HasSubstr("no samples in this folder; expected .npy, .npz, .jpg"));
  EXPECT_THAT(problem(write("x.npy", npy_bytes(counting({4, 2}))), graph),
              HasSubstr("is a single array: put it into an .npz"));
  EXPECT_THAT(problem((folder_ / "none.npz").string(), graph), HasSubstr("no such file or folder"));
  fs::create_directories(folder_ / "data" / "x.npy");
  EXPECT_THAT(problem((folder_ / "data").string(), graph), HasSubstr("no samples in this folder"));
}

TEST(SamplesOfExamples, AreOneSample) {
  const Graph graph = graph_of("  symbol b in [1,8]\n  input %x : f32[b,2]\n  input %y : i64[b]");
  const std::vector<std::optional<TensorView>> examples = {counting({2, 2}).view(),
                                                           tensor<std::int64_t>({2}, {4, 5}).view()};
  const auto samples = example_samples(graph, examples);
  ASSERT_TRUE(samples) << samples.error().text();
  EXPECT_EQ((*samples)->count(), 1u);
  const auto sample = (*samples)->next();
  ASSERT_TRUE(sample && *sample);
  EXPECT_THAT(numbers<std::int64_t>((**sample)[1]), ElementsAre(4, 5));
  EXPECT_FALSE((*samples)->next().value().has_value());

  EXPECT_EQ(example_samples(graph, std::span(examples).first(1)).error().text(),
            "the model has no example of input y: give samples");
  const std::vector<std::optional<TensorView>> others = {counting({3, 2}).view(), examples[1]};
  EXPECT_THAT(example_samples(graph, others).error().text(),
              AllOf(HasSubstr("input 1 (y) is i64[2], expected i64[b]"), HasSubstr("the example inputs")));
}

TEST(SamplesOfSharedModels, EveryModelReadsItsSamples) {
  const fs::path models = test::shared_dir() / "models";
  if (!fs::exists(models)) GTEST_SKIP() << "the wider data are not there";
  std::size_t files = 0;
  for (const auto& folder : fs::directory_iterator(models)) {
    const fs::path data = folder.path() / "calib.npz";
    if (!fs::exists(data)) continue;
    for (const char* archive : {"model.pt2", "model_dynamic.pt2", "model_unbounded.pt2"}) {
      if (!fs::exists(folder.path() / archive)) continue;
      Diagnostics diagnostics;
      const auto model = test::open(folder.path() / archive, diagnostics);
      ASSERT_TRUE(model) << model.error().text();
      auto samples = open_samples(data.string(), model->graph, {}, diagnostics);
      ASSERT_TRUE(samples) << samples.error().text();
      std::size_t count = 0;
      for (auto sample = (*samples)->next(); sample.value(); sample = (*samples)->next()) ++count;
      EXPECT_EQ(count, (*samples)->count());
      EXPECT_GE(count, 12u);
      EXPECT_TRUE(example_samples(model->graph, model->examples)) << folder.path();
      ++files;
    }
  }
  EXPECT_GE(files, 18u);
}

}  // namespace
}  // namespace isthmus::samples_test
