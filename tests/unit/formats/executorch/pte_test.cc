// Program files: what is written is read again, and nothing else is believed.
#include "formats/executorch/pte.h"

#include <flatbuffers/flatbuffers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "support/models.h"
#include "support/programs.h"

namespace isthmus::pte_test {
namespace {

using test::bytes_of;
using test::ProgramBuilder;
using test::replaced;
using test::vector_bytes;
using testing::HasSubstr;

Blob bytes(std::size_t count, std::uint8_t first) {
  std::vector<std::byte> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<std::byte>(first + i % 100);
  return Blob::owning(std::move(result));
}

// At least one of everything that a program can hold.
pte::Program everything() {
  ProgramBuilder b;
  const auto x = b.input(b.tensor({2, 3}, DType::kF32, pte::Dynamism::kBounded));
  const auto y = b.output(b.tensor({2, 3, 4, 5}, DType::kI8));
  std::get<pte::Tensor>(b.plan().values[y]).dim_order = {0, 2, 3, 1};
  const auto scalar = b.constant(Tensor(DType::kF64, {}));
  const auto state = b.tensor({7}, DType::kI64);
  std::get<pte::Tensor>(b.plan().values[state]).data_index = 1;
  const auto unplanned = b.tensor({3}, DType::kBool);
  std::get<pte::Tensor>(b.plan().values[unplanned]).allocation.reset();
  std::get<pte::Tensor>(b.plan().values[unplanned]).requires_grad = true;
  const auto none = b.value(pte::None{});
  const auto boolean = b.value(true);
  const auto number = b.value(-1.5);
  const auto text = b.value(std::string("text"));
  const auto ints = b.ints({3, -4, 1'000'000'000'000});
  const auto doubles = b.value(pte::DoubleList{{0.5, -2}});
  const auto bools = b.value(pte::BoolList{{true, false, true}});
  const auto tensors = b.value(pte::TensorList{{x, y}});
  const auto maybe = b.value(pte::OptionalTensorList{{x, std::nullopt, none}});
  b.call("aten::first.out", {x, scalar, number, y, y});
  b.call("aten::second", {ints, doubles, bools, tensors, maybe, text});
  b.call("aten::first.out", {});
  b.add(pte::DelegateCall{1, {x, y}});
  b.add(pte::MoveCall{x, state});
  b.add(pte::JumpFalseCall{boolean, 2});
  b.add(pte::FreeCall{y});
  b.plan().chains.emplace_back();
  b.plan().delegates.push_back({"OneBackend", bytes(100, 1), {{"key", {std::byte{1}, std::byte{0}}}, {"other", {}}}});
  b.plan().delegates.push_back({"OtherBackend", bytes(33, 7), {}});
  b.plan().delegates.push_back({"EmptyBackend", Blob(), {}});
  b.plan().container_inputs = "[1, inputs]";
  b.plan().container_outputs = "[1, outputs]";
  b.program.initial_values = {Blob(), bytes(56, 3)};
  b.program.named_data = {{"weights", bytes(1000, 5)}, {"same", bytes(1000, 5)}, {"scales", bytes(40, 9)}};
  pte::Plan other = b.plan();
  other.name = "other";
  b.program.plans.push_back(std::move(other));
  return b.program;
}

std::vector<std::string> texts(const std::vector<Blob>& blobs) {
  std::vector<std::string> result;
  for (const Blob& blob : blobs) result.emplace_back(blob.text());
  return result;
}

void expect_equal(const pte::Program& found, const pte::Program& expected) {
  ASSERT_EQ(found.plans.size(), expected.plans.size());
  for (std::size_t i = 0; i < found.plans.size(); ++i) {
    const pte::Plan& a = found.plans[i];
    const pte::Plan& b = expected.plans[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.container_inputs, b.container_inputs);
    EXPECT_EQ(a.container_outputs, b.container_outputs);
    EXPECT_TRUE(a.values == b.values);
    EXPECT_EQ(a.inputs, b.inputs);
    EXPECT_EQ(a.outputs, b.outputs);
    EXPECT_TRUE(a.chains == b.chains);
    EXPECT_TRUE(a.operators == b.operators);
    EXPECT_EQ(a.buffer_sizes, b.buffer_sizes);
    ASSERT_EQ(a.delegates.size(), b.delegates.size());
    for (std::size_t d = 0; d < a.delegates.size(); ++d) {
      EXPECT_EQ(a.delegates[d].id, b.delegates[d].id);
      EXPECT_EQ(a.delegates[d].blob.text(), b.delegates[d].blob.text());
      EXPECT_TRUE(a.delegates[d].compile_specs == b.delegates[d].compile_specs);
    }
  }
  EXPECT_EQ(texts(found.constants), texts(expected.constants));
  EXPECT_EQ(texts(found.initial_values), texts(expected.initial_values));
  ASSERT_EQ(found.named_data.size(), expected.named_data.size());
  for (std::size_t i = 0; i < found.named_data.size(); ++i) {
    EXPECT_EQ(found.named_data[i].key, expected.named_data[i].key);
    EXPECT_EQ(found.named_data[i].bytes.text(), expected.named_data[i].bytes.text());
  }
}

Blob written(const pte::Program& program, const pte::WriteOptions& options = {}) {
  auto file = pte::write_program(program, options);
  EXPECT_TRUE(file.has_value()) << file.error().text();
  return Blob::owning_block(file ? *std::move(file) : LargeBytes());
}

template <class Number>
Number number_at(const Blob& file, std::size_t offset) {
  Number number{};
  std::memcpy(&number, file.bytes().data() + offset, sizeof(number));
  return number;
}
template <class Number>
Blob with_number(const Blob& file, std::size_t offset, Number number) {
  std::vector<std::byte> changed(file.bytes().begin(), file.bytes().end());
  std::memcpy(changed.data() + offset, &number, sizeof(number));
  return Blob::owning(std::move(changed));
}

std::string refusal(const Blob& file) {
  const auto program = pte::read_program(file);
  return program ? "accepted" : program.error().text();
}

TEST(Pte, WhatIsWrittenIsReadAgain) {
  const pte::Program program = everything();
  for (const std::uint64_t alignment : {16u, 128u, 4096u}) {
    const auto again = pte::read_program(written(program, {alignment}));
    ASSERT_TRUE(again.has_value()) << again.error().text();
    expect_equal(*again, program);
  }
}

TEST(Pte, EqualProgramsGiveEqualBytes) {
  const Blob file = written(everything());
  EXPECT_EQ(file.text(), written(everything()).text());
  const auto again = pte::read_program(file);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(written(*again).text(), file.text());
}

TEST(Pte, EqualBytesAreStoredOnce) {
  ProgramBuilder b;
  Tensor numbers(DType::kF32, {500});
  b.constant(numbers);
  b.program.named_data = {{"one", bytes(3000, 1)}};
  const std::size_t size = b.file().size();
  b.constant(numbers);
  b.program.named_data.push_back({"two", bytes(3000, 1)});
  EXPECT_LT(b.file().size(), size + 500);
}

TEST(Pte, TheHeaderIsWhereRuntimesLookForIt) {
  const Blob file = written(everything());
  EXPECT_EQ(file.text().substr(4, 4), "ET12");
  EXPECT_EQ(file.text().substr(8, 4), "eh00");
  EXPECT_EQ(number_at<std::uint32_t>(file, 12), 32u);
  const auto program_size = number_at<std::uint64_t>(file, 16);
  const auto base = number_at<std::uint64_t>(file, 24);
  EXPECT_EQ(base, (program_size + 127) / 128 * 128);
  EXPECT_EQ(base + number_at<std::uint64_t>(file, 32), file.size());
  // Without any byte of segments there is no extended header either.
  ProgramBuilder plain;
  plain.output(plain.input(plain.tensor({1})));
  EXPECT_NE(plain.file().text().substr(8, 4), "eh00");
}

TEST(Pte, RecordedFilesAreReadAndWrittenAgain) {
  for (const auto& entry : std::filesystem::directory_iterator(test::source_dir() / "tests/models/pte")) {
    if (entry.path().extension() != ".pte") continue;
    const Blob file = *map_file(entry.path().string());
    EXPECT_TRUE(pte::looks_like_program(file)) << entry.path();
    const auto program = pte::read_program(file);
    ASSERT_TRUE(program.has_value()) << entry.path() << program.error().text();
    const auto again = pte::read_program(written(*program));
    ASSERT_TRUE(again.has_value()) << entry.path() << again.error().text();
    expect_equal(*again, *program);
  }
}

TEST(Pte, OldHeadersWithoutSegmentSizeAreRead) {
  const Blob file = with_number<std::uint64_t>(with_number<std::uint32_t>(written(everything()), 12, 24), 32, 0);
  EXPECT_EQ(refusal(file), "accepted");
}

struct Fault {
  const char* name;
  std::function<void(ProgramBuilder&)> make;  // of plus_one: values x, constant, y, alpha
  const char* words;
};
pte::Tensor& tensor(ProgramBuilder& b, std::size_t i) { return std::get<pte::Tensor>(b.plan().values[i]); }
pte::KernelCall& call(ProgramBuilder& b) {
  return std::get<pte::KernelCall>(b.plan().chains.front().instructions.front());
}

const Fault kFaults[] = {
    {"no plan", [](auto& b) { b.program.plans.clear(); }, "the program has no plan"},
    {"equal names", [](auto& b) { b.program.plans.push_back(b.plan()); }, "plans without unique names"},
    {"no name", [](auto& b) { b.plan().name.clear(); }, "plans without unique names"},
    {"negative buffer", [](auto& b) { b.plan().buffer_sizes[1] = -1; }, "a buffer of -1 bytes"},
    {"rank", [](auto& b) { b.tensor(std::vector<std::int32_t>(17, 1)); }, "a tensor of 17 dimensions"},
    {"order's length",
     [](auto& b) {
       tensor(b, 0).dim_order = {0, 1};
     },
     "1 sizes, but a dimension order of 2"},
    {"order", [](auto& b) { tensor(b, 0).dim_order = {1}; }, "the dimension order is not a permutation"},
    {"order twice",
     [](auto& b) {
       tensor(b, b.tensor({2, 2})).dim_order = {1, 1};
     },
     "the dimension order is not a permutation"},
    {"negative size", [](auto& b) { tensor(b, 0).sizes = {-3}; }, "negative or overflow"},
    {"overflow",
     [](auto& b) {
       tensor(b, 0).sizes = {1 << 30, 1 << 30, 1 << 30};
       tensor(b, 0).dim_order = {0, 1, 2};
     },
     "negative or overflow"},
    {"overflow beside 0",
     [](auto& b) {
       tensor(b, 0).sizes = {1 << 30, 1 << 30, 0};
       tensor(b, 0).dim_order = {0, 1, 2};
     },
     "negative or overflow"},
    {"memory 0", [](auto& b) { tensor(b, 0).allocation->memory_id = 0; }, "memory 0; the plan has 2"},
    {"memory 2", [](auto& b) { tensor(b, 0).allocation->memory_id = 2; }, "memory 2; the plan has 2"},
    {"offset", [](auto& b) { tensor(b, 0).allocation->offset = 32; }, "reach past the 32 bytes of memory 1"},
    {"offset overflows", [](auto& b) { tensor(b, 0).allocation->offset = ~std::uint64_t{3}; },
     "reach past the 32 bytes of memory 1"},
    {"constant index", [](auto& b) { tensor(b, 1).data_index = 2; }, "constant 2 of 2"},
    {"initial value", [](auto& b) { tensor(b, 0).data_index = 1; }, "constant 1 of 0"},
    {"short constant", [](auto& b) { tensor(b, 1).dtype = DType::kF64; }, "constant 1 has 4 bytes, the tensor needs 8"},
    {"reserved constant", [](auto& b) { b.program.constants[0] = bytes(4, 0); }, "constant 0 is reserved"},
    {"integers in a list", [](auto& b) { b.value(pte::IntList{{0}}); }, "0 in a list of integers is not an integer"},
    {"list of itself", [](auto& b) { b.value(pte::IntList{{4}}); }, "4 in a list of integers is not an integer"},
    {"list past the end", [](auto& b) { b.value(pte::IntList{{99}}); }, "99 in a list of integers is not an integer"},
    {"tensors in a list", [](auto& b) { b.value(pte::TensorList{{3}}); }, "3 in a list of tensors is not a tensor"},
    {"cyclic tensors", [](auto& b) { b.value(pte::TensorList{{4}}); }, "4 in a list of tensors is not a tensor before"},
    {"later tensors",
     [](auto& b) {
       b.value(pte::TensorList{{5}});
       b.tensor({1});
     },
     "5 in a list of tensors is not a tensor before it"},
    {"optional tensors", [](auto& b) { b.value(pte::OptionalTensorList{{3}}); },
     "3 in a list of tensors is not a tensor"},
    {"cyclic options", [](auto& b) { b.value(pte::OptionalTensorList{{4}}); },
     "4 in a list of tensors is not a tensor"},
    {"input", [](auto& b) { b.plan().inputs = {4}; }, "value 4 of 4\n  in the inputs"},
    {"output", [](auto& b) { b.plan().outputs = {4}; }, "value 4 of 4\n  in the outputs"},
    {"nameless operator", [](auto& b) { b.plan().operators[0] = {}; }, "an operator's name is empty"},
    {"long operator", [](auto& b) { b.plan().operators[0].name.assign(97, 'x'); },
     "an operator's name is empty or longer than 99"},
    {"operator index", [](auto& b) { call(b).operator_index = 1; }, "operator 1 of 1\n  in instruction 0"},
    {"argument", [](auto& b) { call(b).args[2] = 4; }, "value 4 of 4\n  in instruction 0"},
    {"delegate",
     [](auto& b) {
       b.add(pte::DelegateCall{0, {}});
     },
     "delegate 0 of 0\n  in instruction 1"},
    {"move from",
     [](auto& b) {
       b.add(pte::MoveCall{4, 0});
     },
     "value 4 of 4"},
    {"move to",
     [](auto& b) {
       b.add(pte::MoveCall{0, 4});
     },
     "value 4 of 4"},
    {"condition",
     [](auto& b) {
       b.add(pte::JumpFalseCall{4, 0});
     },
     "value 4 of 4"},
    {"jump",
     [](auto& b) {
       b.add(pte::JumpFalseCall{0, 3});
     },
     "a jump to 3 of 2"},
    {"free", [](auto& b) { b.add(pte::FreeCall{4}); }, "value 4 of 4"},
    {"many arguments", [](auto& b) { call(b).args.assign(8193, 0); }, "8193 arguments"},
    {"named twice",
     [](auto& b) {
       b.program.named_data = {{"k", bytes(1, 1)}, {"k", bytes(1, 2)}};
     },
     "\"k\" names two data"},
    {"element type", [](auto& b) { tensor(b, 0).dtype = DType::kC64; }, "no element type"},
};

TEST(Pte, FaultyProgramsAreNotWritten) {
  for (const Fault& fault : kFaults) {
    ProgramBuilder builder = test::plus_one();
    fault.make(builder);
    const auto file = pte::write_program(builder.program);
    ASSERT_FALSE(file.has_value()) << fault.name;
    EXPECT_THAT(file.error().text(), HasSubstr(fault.words)) << fault.name;
  }
  EXPECT_FALSE(pte::write_program(test::plus_one().program, {.segment_alignment = 8}).has_value());
  EXPECT_FALSE(pte::write_program(test::plus_one().program, {.segment_alignment = 100}).has_value());
}

TEST(Pte, FaultyHeadersAreRefused) {
  const Blob file = test::plus_one().file();
  const auto cut = [&](std::size_t size) { return *file.part(0, size); };
  EXPECT_THAT(refusal(Blob()), HasSubstr("shorter than 64 bytes"));
  EXPECT_THAT(refusal(cut(63)), HasSubstr("shorter than 64 bytes"));
  EXPECT_THAT(refusal(replaced(file, "ET12", "ET11")), HasSubstr("another version than ET12"));
  EXPECT_THAT(refusal(replaced(file, "ET12", "XT12")), HasSubstr("does not begin with ET12"));
  EXPECT_THAT(refusal(with_number<std::uint32_t>(file, 12, 23)), HasSubstr("its extended header has 23 bytes"));
  EXPECT_THAT(refusal(with_number<std::uint64_t>(file, 16, 1 << 20)), HasSubstr("truncated: the program has 1048576"));
  EXPECT_THAT(refusal(with_number<std::uint64_t>(file, 16, ~std::uint64_t{0})), HasSubstr("truncated"));
  EXPECT_THAT(refusal(with_number<std::uint64_t>(file, 16, 4)), HasSubstr("flatbuffer is damaged"));
  EXPECT_THAT(refusal(with_number<std::uint64_t>(file, 24, 64)), HasSubstr("segments at 64"));
  EXPECT_THAT(refusal(with_number<std::uint64_t>(file, 24, file.size() + 1)), HasSubstr("segments at"));
  EXPECT_THAT(refusal(with_number<std::uint64_t>(file, 24, 0)), HasSubstr("segment 0 has 4 bytes at 0 of 0"));
  EXPECT_THAT(refusal(with_number<std::uint64_t>(file, 32, 5)), HasSubstr("truncated: 5 bytes of segments"));
  EXPECT_THAT(refusal(with_number<std::uint64_t>(file, 32, 3)), HasSubstr("segment 0 has 4 bytes at 0 of 3"));
  EXPECT_THAT(refusal(cut(file.size() - 1)), HasSubstr("truncated: 4 bytes of segments"));
  EXPECT_THAT(refusal(with_number<std::uint32_t>(file, 0, 7)), HasSubstr("flatbuffer is damaged"));
  EXPECT_THAT(refusal(with_number<std::uint32_t>(file, 0, 0xFFFFFFF0)), HasSubstr("flatbuffer is damaged"));
}

TEST(Pte, FaultyTablesAreRefused) {
  ProgramBuilder b = test::plus_one();
  for (int i = 0; i < 76; ++i) b.plan().operators.push_back({"aten::unused", "form" + std::to_string(i)});
  call(b).operator_index = 76;
  b.value(pte::TensorList{{0, 1, 2}});
  b.value(pte::IntList{{3, 3, 3}});
  b.program.named_data = {{"data", bytes(12'345, 1)}};
  const Blob file = b.file();
  ASSERT_EQ(refusal(file), "accepted");
  using Ints = std::vector<std::int32_t>;
  using Longs = std::vector<std::int64_t>;
  const auto with_args = [&](const Ints& args) {
    return refusal(replaced(file, vector_bytes(Ints{0, 1, 3, 2, 2}), vector_bytes(args)));
  };
  EXPECT_THAT(with_args({0, 1, 3, 2, 6}), HasSubstr("value 6 of 6\n  in instruction 0"));
  EXPECT_THAT(with_args({0, 1, 3, 2, -1}), HasSubstr("a negative index"));
  const auto with_tensors = [&](const Ints& items) {
    return refusal(replaced(file, vector_bytes(Ints{0, 1, 2}), vector_bytes(items)));
  };
  EXPECT_THAT(with_tensors({0, 4, 2}), HasSubstr("4 in a list of tensors is not a tensor before it"));
  EXPECT_THAT(with_tensors({0, -1, 2}), HasSubstr("a negative index"));
  const auto with_ints = [&](const Longs& items) {
    return refusal(replaced(file, vector_bytes(Longs{3, 3, 3}), vector_bytes(items)));
  };
  EXPECT_THAT(with_ints({3, 5, 3}), HasSubstr("5 in a list of integers is not an integer"));
  EXPECT_THAT(with_ints({3, -1, 3}), HasSubstr("-1 is not an index"));
  EXPECT_THAT(with_ints({3, std::int64_t{1} << 32, 3}), HasSubstr("4294967296 is not an index"));
  EXPECT_THAT(refusal(replaced(file, bytes_of(Ints{76}), bytes_of(Ints{77}))), HasSubstr("operator 77 of 77"));
  EXPECT_THAT(refusal(replaced(file, bytes_of(Ints{76}), bytes_of(Ints{-1}))), HasSubstr("a negative index, -1"));
  EXPECT_THAT(refusal(replaced(file, bytes_of(Longs{12'345}), bytes_of(Longs{12'346}))),
              HasSubstr("segment 1 has 12346 bytes"));
  EXPECT_THAT(refusal(replaced(file, bytes_of(Longs{12'345}), bytes_of(Longs{-1}))), HasSubstr("segment 1 has"));
}

// A cut or changed file is refused or read, and never anything else; the sanitizers watch.
TEST(Pte, TruncationsAndByteChangesNeverCrash) {
  pte::Program program = everything();
  program.plans.pop_back();
  const Blob file = written(program);
  for (std::size_t size = 0; size < file.size(); size += size < 4096 ? 1 : 97) {
    EXPECT_FALSE(pte::read_program(*file.part(0, size)).has_value()) << "cut to " << size;
  }
  std::size_t refused = 0;
  std::vector<std::byte> changed(file.bytes().begin(), file.bytes().end());
  const std::size_t program_size = number_at<std::uint64_t>(file, 16);
  for (std::size_t i = 0; i < program_size; ++i) {
    const std::byte before = changed[i];
    for (const std::byte flip : {std::byte{1}, std::byte{0xFF}}) {
      changed[i] = before ^ flip;
      refused += pte::read_program(Blob(changed, nullptr)).has_value() ? 0 : 1;
    }
    changed[i] = before;
  }
  EXPECT_GT(refused, program_size / 4);
}

// Few tables that are shared many times would unfold to much more than the file has.
TEST(Pte, SharedTablesDoNotMultiply) {
  flatbuffers::FlatBufferBuilder f;
  const auto field = [](int id) { return static_cast<flatbuffers::voffset_t>(4 + 2 * id); };
  const auto text = f.CreateString(std::string(50'000, 'x'));
  auto start = f.StartTable();
  f.AddOffset(field(0), text);
  const flatbuffers::Offset<void> string(f.EndTable(start));
  start = f.StartTable();
  f.AddElement<std::uint8_t>(field(0), 6, 0);
  f.AddOffset(field(1), string);
  const flatbuffers::Offset<void> value(f.EndTable(start));
  const auto values = f.CreateVector(std::vector<flatbuffers::Offset<void>>(2'000, value));
  const auto none = f.CreateVector(std::vector<std::int32_t>());
  const auto name = f.CreateString("forward");
  start = f.StartTable();
  f.AddOffset(field(0), name);
  f.AddOffset(field(2), values);
  for (const int id : {3, 4, 5, 7, 8}) f.AddOffset(field(id), none);
  const flatbuffers::Offset<void> plan(f.EndTable(start));
  const auto plans = f.CreateVector(std::vector<flatbuffers::Offset<void>>{plan});
  start = f.StartTable();
  f.AddOffset(field(1), plans);
  f.Finish(flatbuffers::Offset<void>(f.EndTable(start)), "ET12");
  const Blob file(std::as_bytes(std::span(f.GetBufferPointer(), f.GetSize())), nullptr);
  EXPECT_THAT(refusal(file), HasSubstr("refer to the same data too often"));
}

TEST(Pte, FilesAreRecognisedByTheirFirstBytes) {
  EXPECT_TRUE(pte::looks_like_program(test::plus_one().file()));
  const Blob of_another_version = replaced(test::plus_one().file(), "ET12", "ET13");
  EXPECT_TRUE(pte::looks_like_program(of_another_version));
  EXPECT_FALSE(pte::looks_like_program(Blob()));
  EXPECT_FALSE(pte::looks_like_program(replaced(test::plus_one().file(), "ET12", "ETxy")));
  EXPECT_EQ(pte::find_plan(everything(), "nowhere"), nullptr);
}

}  // namespace
}  // namespace isthmus::pte_test
