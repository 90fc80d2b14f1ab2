// TOSA files: what is written is read again, and nothing else is believed.
#include "formats/tosa/tosa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <span>

#include "formats/executorch/pte.h"
#include "support/models.h"
#include "support/programs.h"
#include "support/tosa.h"

namespace isthmus::tosa_test {
namespace {

using test::bytes_of;
using test::file_of;
using test::replaced;
using test::TosaBuilder;
using testing::HasSubstr;
using tosa::Op;
using tosa::Type;
using tosa::ValueIndex;

std::string refusal(const Blob& file) {
  const auto graph = tosa::read_graph(file);
  return graph ? "accepted" : graph.error().text();
}

// One operator with as many inputs as it takes; types and shapes mean nothing.
tosa::Graph one_operator(Op op) {
  TosaBuilder b;
  std::vector<ValueIndex> inputs;
  for (const char letter : tosa::inputs_of(op)) {
    if (letter == 'S') continue;
    inputs.push_back(letter == 's' ? b.shape({4, 5}) : b.input(Type::kI8, {2, 3}));
  }
  if (tosa::inputs_of(op) == "S") {
    b.shape({1, 2, 3});
    return b.graph;
  }
  if (tosa::inputs_of(op).empty()) {
    b.output(b.constant(Type::kI8, {2}, {7, -7}));
    return b.graph;
  }
  b.output(b.op(op, tosa::fields_of(op), inputs, Type::kI32, {2, 3}));
  b.graph.operators.back().location = "model.py:12";
  return b.graph;
}

bool is_read(Op op) { return !std::holds_alternative<tosa::NotRead>(tosa::fields_of(op)); }

TEST(TosaFile, EveryOperatorIsReadAgain) {
  std::size_t count = 0;
  for (const Op op : tosa::all_ops()) {
    if (!is_read(op)) continue;
    const tosa::Graph graph = one_operator(op);
    const Blob file = file_of(graph);
    const auto again = tosa::read_graph(file);
    ASSERT_TRUE(again.has_value()) << tosa::name_of(op) << ": " << again.error().text();
    EXPECT_EQ(again->operators.size(), graph.operators.size()) << tosa::name_of(op);
    EXPECT_TRUE(file_of(*again).text() == file.text()) << tosa::name_of(op);
    ++count;
  }
  EXPECT_EQ(tosa::all_ops().size(), 75u);
  EXPECT_EQ(count, 67u);
}

// Every field with another value than a flatbuffer leaves out.
TEST(TosaFile, EveryFieldIsReadAgain) {
  using tosa::NanPropagation;
  const std::pair<Op, tosa::Fields> kRows[] = {
      {Op::kArgMax, tosa::AxisNan{3, NanPropagation::kIgnore}},
      {Op::kAvgPool2d, tosa::AvgPool{{1, 2}, {3, 4}, {5, 6, 7, 8}, Type::kI32}},
      {Op::kMaxPool2d, tosa::MaxPool{{1, 2}, {3, 4}, {5, 6, 7, 8}, NanPropagation::kIgnore}},
      {Op::kConv2d, tosa::Conv{{1, 2, 3, 4}, {5, 6}, {7, 8}, true, Type::kI48}},
      {Op::kTransposeConv2d, tosa::TransposeConv{{-1, 2, -3, 4}, {5, 6}, true, Type::kI48}},
      {Op::kClamp, tosa::Clamp{{std::byte{1}, std::byte{2}}, {std::byte{3}, std::byte{4}}, NanPropagation::kIgnore}},
      {Op::kArithmeticRightShift, tosa::RightShift{true}},
      {Op::kMaximum, tosa::NanMode{NanPropagation::kIgnore}},
      {Op::kReduceSum, tosa::Axis{-2}},
      {Op::kTranspose, tosa::Transpose{{1, 0}}},
      {Op::kResize, tosa::Resize{tosa::ResizeMode::kBilinear}},
      {Op::kRescale, tosa::Rescale{true, tosa::Rounding::kDouble, true, true, true}}};
  std::set<std::size_t> kinds{0, 1};  // those that have no fields, and those that are not read
  for (const auto& [op, fields] : kRows) {
    tosa::Graph graph = one_operator(op);
    graph.operators.back().fields = fields;
    const auto again = tosa::read_graph(file_of(graph));
    ASSERT_TRUE(again.has_value()) << again.error().text();
    EXPECT_TRUE(again->operators.back().fields == fields) << tosa::name_of(op);
    kinds.insert(fields.index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<tosa::Fields>);
}

TosaBuilder every_type() {
  TosaBuilder b;
  b.output(b.constant(Type::kBool, {3}, {0, 1, 1}));
  b.output(b.constant(Type::kI4, {3}, {-8, 7, -1}));
  b.output(b.constant(Type::kI8, {}, {-128}));
  b.output(b.constant(Type::kI16, {1, 2}, {-32768, 32767}));
  b.output(b.constant(Type::kI32, {2}, {-5, 1 << 30}));
  b.output(b.constant(Type::kI48, {2}, {-(std::int64_t{1} << 47), (std::int64_t{1} << 47) - 1}));
  b.output(b.constant(Type::kF32, {1}, {0x3F800000}));
  b.shape({});
  b.shape({-1, std::int64_t{1} << 40});
  return b;
}

TEST(TosaFile, ConstantsOfEveryType) {
  const tosa::Graph graph = every_type().graph;
  const Blob file = file_of(graph);
  const auto again = tosa::read_graph(file);
  ASSERT_TRUE(again.has_value()) << again.error().text();
  EXPECT_TRUE(*again == graph);
  EXPECT_TRUE(file_of(*again).text() == file.text());
  const std::byte* start = file.bytes().data();
  for (const tosa::Value& value : again->values) {
    if (value.data.size() == 0) continue;
    const auto offset = value.data.bytes().data() - start;
    EXPECT_TRUE(offset >= 0 && offset < static_cast<std::ptrdiff_t>(file.size())) << "constants stay in the file";
    EXPECT_EQ(offset % 8, 0) << value.name;
  }
  EXPECT_EQ(again->values[1].data.size(), 2u);
  EXPECT_EQ(again->values[5].data.size(), 12u);
}

TEST(TosaFile, ConstantsAsTheInterpreterSeesThem) {
  tosa::Graph graph = every_type().graph;
  std::erase_if(graph.outputs, [&](ValueIndex output) { return graph.values[output].type == Type::kF32; });
  const auto outputs = tosa::Interpreter::load(*tosa::read_graph(file_of(graph)))->run({});
  ASSERT_TRUE(outputs.has_value());
  using Ints = std::vector<std::int64_t>;
  EXPECT_EQ(test::integers((*outputs)[1]), (Ints{-8, 7, -1}));
  EXPECT_EQ(test::integers((*outputs)[2]), (Ints{-128}));
  EXPECT_EQ(test::integers((*outputs)[5]), (Ints{-(std::int64_t{1} << 47), (std::int64_t{1} << 47) - 1}));
}

TEST(TosaFile, RecordedFilesAreReadAgain) {
  const test::Files files = test::files_of_folder(test::source_dir() / "tests" / "models" / "tosa");
  for (const std::string& folder : test::cases_in(files, "")) {
    const auto graph = tosa::read_graph(files.at(folder + "/graph.tosa"));
    ASSERT_TRUE(graph.has_value()) << folder << ": " << graph.error().text();
    EXPECT_TRUE(tosa::looks_like_graph(files.at(folder + "/graph.tosa")));
    const Blob written = file_of(*graph);
    const auto again = tosa::read_graph(written);
    ASSERT_TRUE(again.has_value()) << folder << ": " << again.error().text();
    EXPECT_TRUE(*again == *graph) << folder;
    EXPECT_TRUE(file_of(*again).text() == written.text()) << folder;
  }
}

// The graphs inside program files of ExecuTorch, which repeats some constants behind those that count.
TEST(TosaFile, PayloadsOfExecuTorchAreReadAndRun) {
  std::vector<std::filesystem::path> files{test::source_dir() / "tests/models/pte/emg_u55tosa_v2_reverted.pte"};
  for (const char* name :
       {"cnx1x4_u55tosa_v1_fixed.pte", "cnx1x4_u55tosa_v1_reverted.pte", "emg_u55tosa_v2_fixed.pte"}) {
    if (std::filesystem::exists(test::shared_dir() / "golden" / name))
      files.push_back(test::shared_dir() / "golden" / name);
  }
  std::size_t count = 0;
  for (const auto& file : files) {
    const auto program = pte::read_program(*map_file(file.string()));
    ASSERT_TRUE(program.has_value()) << file << ": " << program.error().text();
    for (const pte::Delegate& delegate : program->plans.front().delegates) {
      if (delegate.id != "TOSABackend") continue;
      const auto graph = tosa::read_graph(delegate.blob);
      ASSERT_TRUE(graph.has_value()) << file << ": " << graph.error().text();
      EXPECT_TRUE(*tosa::read_graph(file_of(*graph)) == *graph) << file;
      const auto interpreter = tosa::Interpreter::load(*graph);
      ASSERT_TRUE(interpreter.has_value()) << file << ": " << interpreter.error().text();
      std::mt19937 random(1);
      test::run_both_ways(*graph, test::random_inputs(*interpreter, random));
      ++count;
    }
  }
  EXPECT_GE(count, 2u);
}

TEST(TosaFile, AnyAddressWillDo) {
  const Blob file = file_of(every_type().graph);
  for (std::size_t shift = 1; shift < 16; ++shift) {
    std::vector<std::byte> moved(shift);
    moved.insert(moved.end(), file.bytes().begin(), file.bytes().end());
    const auto part = Blob::owning(std::move(moved)).part(shift, file.size());
    const auto again = tosa::read_graph(*part);
    ASSERT_TRUE(again.has_value()) << again.error().text();
    EXPECT_TRUE(*again == every_type().graph);
  }
}

TEST(TosaFile, IsWhatTheFormatSays) {
  const Blob file = file_of(one_operator(Op::kAdd));
  EXPECT_EQ(file.text().substr(4, 4), "TOSA");
  EXPECT_TRUE(tosa::looks_like_graph(file));
  EXPECT_FALSE(tosa::looks_like_graph(Blob()));
  EXPECT_TRUE(tosa::read_graph(file)->version == tosa::Version{});
  EXPECT_THAT(refusal(replaced(file, "TOSA", "TOSB")), HasSubstr("damaged or not a TOSA graph"));
  EXPECT_THAT(refusal(Blob()), HasSubstr("damaged"));
  for (std::size_t size = 0; size + 8 < file.size(); size += 4)
    EXPECT_NE(refusal(*file.part(0, size)), "accepted") << size;
}

TEST(TosaFile, VersionsAreChecked) {
  tosa::Graph graph = one_operator(Op::kAdd);
  graph.version = {1, 1, 0, true};
  EXPECT_TRUE(tosa::read_graph(file_of(graph))->version == graph.version);
  graph.version.major = 2;
  EXPECT_THAT(refusal(file_of(graph)), HasSubstr("version 2.1.0 is not supported, only 1.x"));
}

// Names in the file, each exchanged for another of the same length.
TEST(TosaFile, NamesAreChecked) {
  TosaBuilder b;
  const auto x = b.input(Type::kI32, {2});
  b.output(b.op(Op::kAbs, tosa::Nothing{}, {x}, Type::kI32, {2}));
  b.graph.values[0].name = "first";
  b.graph.values[1].name = "other";
  const Blob file = file_of(b.graph);
  EXPECT_EQ(refusal(file), "accepted");
  // Names are shared, so both ends of a reference change together.
  EXPECT_EQ(refusal(replaced(file, "first", "third")), "accepted");
  EXPECT_THAT(refusal(replaced(file, "first", "other")), HasSubstr("two values have the name \"other\""));
}

// The only operator of a file with another number, another tag, or both.
Blob renumbered(const Blob& file, Op from, Op op, Op tag) {
  std::string text(file.text());
  std::size_t seen = 0;
  for (char& c : text) {
    if (c == static_cast<char>(from)) c = static_cast<char>(seen++ == 0 ? tag : op);
  }
  CHECK(seen == 2, "a number that occurs twice: as the operator's and as its tag");
  const auto bytes = std::as_bytes(std::span(text));
  return Blob::owning({bytes.begin(), bytes.end()});
}

TEST(TosaFile, OtherOperatorsAreKnownByName) {
  for (const Op op : {Op::kCondIf, Op::kWhileLoop, Op::kCustom, Op::kVariable, Op::kFft2d}) {
    EXPECT_FALSE(is_read(op));
    TosaBuilder b;
    const auto x = b.input(Type::kI32, {2});
    b.output(b.op(op, tosa::NotRead{}, {x}, Type::kI32, {2}));
    EXPECT_THAT(tosa::write_graph(b.graph).error().text(), HasSubstr("operators of this kind are not supported"));
  }
  TosaBuilder b;
  const auto x = b.input(Type::kI32, {2});
  b.output(b.op(Op::kGreater, tosa::Nothing{}, {x, x}, Type::kBool, {2}));
  const Blob file = file_of(b.graph);
  const Op from = Op::kGreater;
  EXPECT_EQ(refusal(file), "accepted");
  EXPECT_THAT(refusal(renumbered(file, from, Op::kCondIf, Op::kCondIf)), HasSubstr("not supported\n  in COND_IF"));
  EXPECT_THAT(refusal(renumbered(file, from, Op::kEqual, from)),
              HasSubstr("its attributes are those of operator 47\n  in EQUAL"));
  EXPECT_THAT(refusal(renumbered(file, from, from, Op::kEqual)), HasSubstr("its attributes are those of operator 46"));
  EXPECT_THAT(refusal(renumbered(file, from, static_cast<Op>(76), static_cast<Op>(76))),
              HasSubstr("unknown number 76"));
}

TEST(TosaFile, ConstantsAreShared) {
  TosaBuilder b;
  const auto x = b.input(Type::kI8, {2});
  const auto zero = [&] { return b.zero(Type::kI8, 3); };
  const auto once = b.op(Op::kNegate, tosa::Nothing{}, {x, zero(), b.zero(Type::kI8, 4)}, Type::kI8, {2});
  const auto again = b.op(Op::kNegate, tosa::Nothing{}, {once, zero(), zero()}, Type::kI8, {2});
  b.output(b.op(Op::kReshape, tosa::Nothing{}, {again, b.shape({1, 2})}, Type::kI8, {1, 2}));
  b.output(b.op(Op::kReshape, tosa::Nothing{}, {once, b.shape({1, 2})}, Type::kI8, {1, 2}));
  const tosa::Graph shared = tosa::with_shared_constants(b.graph);
  EXPECT_EQ(b.graph.operators.size(), 10u);
  EXPECT_EQ(shared.operators.size(), 7u);
  EXPECT_EQ(shared.values.size(), b.graph.values.size() - 3);
  ASSERT_TRUE(tosa::verify(shared).has_value());
  EXPECT_TRUE(tosa::with_shared_constants(shared) == shared);
  EXPECT_LT(file_of(shared).size(), file_of(b.graph).size());
  std::mt19937 random(1);
  const auto inputs = test::random_inputs(*tosa::Interpreter::load(shared), random);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(test::integers(test::run_both_ways(shared, inputs)[i]),
              test::integers(test::run_both_ways(b.graph, inputs)[i]));
  }
}

struct Fault {
  const char* name;
  std::function<void(tosa::Graph&)> make;  // of add(x, y) -> z, reshape(z, shape) -> r
  const char* words;
};
void PrintTo(const Fault& fault, std::ostream* stream) { *stream << fault.name; }

tosa::Graph small_graph() {
  TosaBuilder b;
  const auto x = b.input(Type::kI32, {2});
  const auto y = b.constant(Type::kI32, {2}, {1, 2});
  const auto z = b.op(Op::kAdd, tosa::Nothing{}, {x, y}, Type::kI32, {2});
  const auto shape = b.shape({2, 1});
  b.output(b.op(Op::kReshape, tosa::Nothing{}, {z, shape}, Type::kI32, {2, 1}));
  return b.graph;
}

const Fault kFaults[] = {
    {"same name", [](auto& g) { g.values[1].name = g.values[0].name; }, "two values have the name \"v0\""},
    {"no type", [](auto& g) { g.values[0].type = Type::kUnknown; }, "a value of no type\n  in value \"v0\""},
    {"size", [](auto& g) { g.values[0].shape = {0}; }, "a size of 0"},
    {"negative size", [](auto& g) { g.values[0].shape = {-2}; }, "a size of -2"},
    {"rank", [](auto& g) { g.values[0].shape.assign(33, 1); }, "33 dimensions"},
    {"overflow", [](auto& g) { g.values[0].shape.assign(3, 1 << 30); }, "its size overflows"},
    {"data", [](auto& g) { g.values[1].shape = {3}; },
     "8 bytes of data, but its type and shape need 12\n  in value \"v1\""},
    {"shape data", [](auto& g) { g.values[3].shape = {3}; }, "16 bytes of data, but its type and shape need 24"},
    {"shape of shape",
     [](auto& g) {
       g.values[3].shape = {2, 1};
     },
     "a shape needs one rank"},
    {"input", [](auto& g) { g.inputs[0] = 9; }, "input 9 is not a value"},
    {"input twice", [](auto& g) { g.inputs.push_back(0); }, "\"v0\" is an input twice"},
    {"constant input", [](auto& g) { g.inputs[0] = 1; }, "the input \"v1\" has data"},
    {"shape input", [](auto& g) { g.inputs[0] = 3; }, "the input \"v3\" is a shape"},
    {"output", [](auto& g) { g.outputs[0] = 9; }, "output 9 is not a value"},
    {"no output", [](auto& g) { g.operators.pop_back(); }, "nothing computes the output \"v4\""},
    {"shape output", [](auto& g) { g.outputs[0] = 3; }, "the output \"v3\" is a shape"},
    {"order", [](auto& g) { std::swap(g.operators[0], g.operators[1]); },
     "\"v1\" is used before it is defined\n  in operator 0 (ADD)"},
    {"no value", [](auto& g) { g.operators[1].inputs[0] = 77; }, "its input 0 is not a value"},
    {"twice", [](auto& g) { g.operators[1].outputs[0] = 0; }, "\"v0\" is already defined"},
    {"missing", [](auto& g) { g.operators[1].outputs[0] = 77; }, "its output is not a value"},
    {"inputs", [](auto& g) { g.operators[1].inputs.pop_back(); }, "1 inputs instead of 2"},
    {"outputs", [](auto& g) { g.operators[1].outputs.clear(); }, "0 outputs instead of 1"},
    {"no shape", [](auto& g) { g.operators.back().inputs[1] = 1; }, "its input 1 is not a shape"},
    {"a shape", [](auto& g) { g.operators.back().inputs[0] = 3; }, "its input 0 is a shape"},
    {"fields", [](auto& g) { g.operators[1].fields = tosa::Axis{}; }, "its attributes are those of another operator"},
    {"no data", [](auto& g) { g.values[1].data = Blob(); }, "its output \"v1\" has no data\n  in operator 0 (CONST)"},
    {"more data", [](auto& g) { g.values[2].data = g.values[1].data; }, "its output \"v2\" has data"},
    {"const shape", [](auto& g) { g.operators[2].op = Op::kConst; }, "its output \"v3\" is a shape"},
    {"shape const", [](auto& g) { g.operators[0].op = Op::kConstShape; }, "its output \"v1\" is not a shape"},
    {"list",
     [](auto& g) {
       g.operators[1] = {Op::kConcat, tosa::Axis{}, {}, {2}};
     },
     "0 inputs instead of at least 1"},
};

class TosaFaults : public testing::TestWithParam<Fault> {};
TEST_P(TosaFaults, AreFound) {
  tosa::Graph graph = small_graph();
  ASSERT_TRUE(tosa::verify(graph).has_value());
  GetParam().make(graph);
  const auto verified = tosa::verify(graph);
  EXPECT_THAT(verified ? "accepted" : verified.error().text(), HasSubstr(GetParam().words));
  EXPECT_FALSE(tosa::write_graph(graph).has_value());
  EXPECT_FALSE(tosa::Interpreter::load(graph).has_value());
}
INSTANTIATE_TEST_SUITE_P(Every, TosaFaults, testing::ValuesIn(kFaults));

// A byte changed anywhere: read or refused, and what is read can be written.
TEST(TosaFile, DamageIsFoundOrHarmless) {
  const Blob file = file_of(small_graph());
  std::size_t refused = 0;
  for (std::size_t place = 0; place < file.size(); ++place) {
    for (const std::byte change : {std::byte{1}, std::byte{0x80}, std::byte{0xFF}}) {
      std::vector<std::byte> bytes(file.bytes().begin(), file.bytes().end());
      bytes[place] ^= change;
      const auto graph = tosa::read_graph(Blob::owning(std::move(bytes)));
      if (graph) {
        EXPECT_TRUE(tosa::write_graph(*graph).has_value());
      } else {
        EXPECT_FALSE(graph.error().text().empty());
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, file.size());
}

}  // namespace
}  // namespace isthmus::tosa_test
