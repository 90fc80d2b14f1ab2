// Models that keep something from one run to the next: a streaming convolution and a decoder with a KV cache answer,
// call after call, what PyTorch answered.
#include <gtest/gtest.h>

#include <algorithm>

#include "interpret/interpreter.h"
#include "program/run/method.h"
#include "support/compile.h"
#include "support/compile_quantized.h"
#include "support/models.h"

namespace isthmus::state_models_test {
namespace {

const std::filesystem::path kModels = test::source_dir() / "tests" / "models" / "state";

// The rows of the first axis.
std::vector<Tensor> rows(const std::string& npz_name, const std::string& array) {
  Npz npz = *Npz::open(*map_file((kModels / npz_name).string()));
  const Tensor whole = Tensor::from(*npz.read(*npz.find(array)));
  const std::vector<std::int64_t> sizes(whole.sizes().begin() + 1, whole.sizes().end());
  std::vector<Tensor> result;
  const std::size_t bytes = whole.bytes().size() / static_cast<std::size_t>(whole.sizes()[0]);
  for (std::size_t i = 0; i < static_cast<std::size_t>(whole.sizes()[0]); ++i) {
    Tensor& row = result.emplace_back(whole.dtype(), sizes);
    std::ranges::copy(whole.bytes().subspan(i * bytes, bytes), row.mutable_bytes().begin());
  }
  return result;
}

using Call = std::function<Expected<std::vector<std::optional<Tensor>>>(std::vector<Tensor>)>;

Call interpreter_of(const std::string& name) {
  const auto graph = std::make_shared<Graph>(*test::open_canonical(kModels / (name + ".pt2")));
  const auto states = std::make_shared<StateValues>(*initial_states(*graph));
  return [=](const std::vector<Tensor>& inputs) { return interpret(*graph, inputs, {}, states.get()); };
}
Call program_of(LargeBytes bytes) {
  const auto file = std::make_shared<LargeBytes>(std::move(bytes));
  const auto method = std::make_shared<run::Method>(*run::Method::load(Blob(*file, file)));
  return [=](const std::vector<Tensor>& inputs) { return method->run(inputs); };
}
Call float_program_of(const std::string& name) {
  auto program = test::compile_model(kModels / (name + ".pt2"));
  EXPECT_TRUE(program) << program.error().text();
  return program_of(program->compiled.bytes);
}
std::vector<std::vector<Tensor>> calibration_of(const std::string& name, std::size_t inputs) {
  std::vector<std::vector<Tensor>> samples;
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::vector<Tensor> arrays = rows(name + "_calib.npz", "input_" + std::to_string(i));
    samples.resize(arrays.size());
    for (std::size_t s = 0; s < arrays.size(); ++s) samples[s].push_back(arrays[s]);
  }
  return samples;
}
test::QuantizedProgram quantized(const std::string& name, std::size_t inputs, std::string_view target) {
  auto program = test::quantize_model(kModels / (name + ".pt2"), calibration_of(name, inputs), {}, true, target);
  EXPECT_TRUE(program) << program.error().text();
  return *std::move(program);
}

// The error of the first output over all calls, in dB; the second one, a count of the calls, is exact.
double stream_db(const Call& call) {
  const std::vector<Tensor> inputs = rows("stream_io.npz", "input_0");
  const std::vector<Tensor> wanted = rows("stream_io.npz", "output_0");
  const std::vector<Tensor> counts = rows("stream_io.npz", "output_1");
  std::vector<std::optional<Tensor>> found;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto outputs = call({inputs[i]});
    EXPECT_TRUE(outputs) << outputs.error().text();
    if (!outputs) return 0;
    EXPECT_EQ(outputs->size(), 2u);
    EXPECT_EQ(test::difference(*(*outputs)[1], counts[i]).max, 0) << "call " << i;
    found.push_back((*outputs)[0]);
  }
  return test::sqnr(found, {wanted.begin(), wanted.end()});
}

TEST(StateModels, AStreamGoesOnInFloat) {
  EXPECT_GT(stream_db(interpreter_of("stream")), 120);
  EXPECT_GT(stream_db(float_program_of("stream")), 120);
}

TEST(StateModels, Int8StreamContinues) {
  for (const std::string_view target : {"xnnpack", "ethos-u85-256", "tosa-int"}) {
    const test::QuantizedProgram program = quantized("stream", 1, target);
    EXPECT_GT(stream_db(program_of(program.compiled->bytes)), 26.5) << target;
    // Its past is kept quantized of the scale that it is read with.
    const Graph& graph = program.model.quantized.graph;
    const auto past = std::ranges::find(graph.states(), "past", [](const auto& state) { return state.initial.fqn; });
    ASSERT_NE(past, graph.states().end());
    EXPECT_EQ(graph.type(past->value).dtype, DType::kI8) << target;
    EXPECT_EQ(graph.type(past->value), graph.type(*graph.next_value(*past))) << target;
  }
}

std::int64_t chosen(const Tensor& logits) {
  const auto numbers = logits.data<float>();
  return std::ranges::max_element(numbers) - numbers.begin();
}
Tensor integer(std::int64_t number, std::vector<std::int64_t> sizes) {
  Tensor tensor(DType::kI64, std::move(sizes));
  tensor.mutable_data<std::int64_t>()[0] = number;
  return tensor;
}

// Of all tokens that follow the two given ones of each sequence, how many are PyTorch's.
double same_tokens(const std::function<Call()>& decoder) {
  double same = 0;
  double all = 0;
  for (const Tensor& row : rows("decoder_io.npz", "tokens")) {
    const Call call = decoder();
    const auto wanted = row.data<std::int64_t>();
    std::vector<std::int64_t> tokens{wanted[0], wanted[1]};
    for (std::size_t position = 0; position + 1 < wanted.size(); ++position) {
      const auto outputs = call({integer(tokens[position], {1, 1}), integer(static_cast<std::int64_t>(position), {1})});
      EXPECT_TRUE(outputs) << outputs.error().text();
      if (!outputs) return 0;
      if (position + 1 >= tokens.size()) tokens.push_back(chosen(*(*outputs)[0]));
    }
    for (std::size_t i = 2; i < wanted.size(); ++i) {
      all += 1;
      same += tokens[i] == wanted[i] ? 1 : 0;
    }
  }
  return same / all;
}

TEST(StateModels, ADecoderGeneratesPyTorchsTokens) {
  EXPECT_EQ(same_tokens([] { return interpreter_of("decoder"); }), 1);
  auto program = test::compile_model(kModels / "decoder.pt2");
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_EQ(same_tokens([&] { return program_of(program->compiled.bytes); }), 1);
}

TEST(StateModels, Int8DecoderGeneratesPyTorchsTokens) {
  for (const std::string_view target : {"xnnpack", "ethos-u85-256"}) {
    const test::QuantizedProgram program = quantized("decoder", 2, target);
    EXPECT_GE(same_tokens([&] { return program_of(program.compiled->bytes); }), 0.9) << target;
  }
}

}  // namespace
}  // namespace isthmus::state_models_test
