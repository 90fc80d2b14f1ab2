// Reads arbitrary bytes as a TOSA file; what is accepted is shown, written again, loaded and run, by both sets of
// kernels.
#include <algorithm>
#include <vector>

#include "formats/tosa/tosa.h"
#include "fuzz/flatbuffer_mutator.h"
#include "report/tosa.h"
#include "targets/tosa/interpreter.h"

namespace {

constexpr std::uint64_t kMaxBytes = 1 << 20;
constexpr std::uint64_t kMaxWork = 1 << 20;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

// Numbers that differ, and cost nothing to make.
std::vector<isthmus::Tensor> inputs_of(const isthmus::tosa::Interpreter& interpreter) {
  std::vector<isthmus::Tensor> inputs;
  unsigned next = 1;
  for (const auto& port : interpreter.inputs()) {
    isthmus::Tensor& tensor = inputs.emplace_back(port.dtype, port.sizes);
    for (std::byte& byte : tensor.mutable_bytes())
      byte = static_cast<std::byte>((next = next * 1103515245 + 12345) >> 16);
  }
  return inputs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const isthmus::Blob file(std::as_bytes(std::span(data, size)), nullptr);
  const auto graph = isthmus::tosa::read_graph(file);
  if (!graph) {
    require(!graph.error().text().empty());
    return 0;
  }
  require(isthmus::tosa::looks_like_graph(file));
  require(!isthmus::to_json(isthmus::summarize("fuzzed", size, *graph)).empty());
  const auto bytes = isthmus::tosa::write_graph(*graph);
  require(bytes.has_value());
  const auto again = isthmus::tosa::read_graph(isthmus::Blob(*bytes, nullptr));
  require(again.has_value() && *again == *graph);

  const isthmus::tosa::LoadOptions options{.max_bytes = kMaxBytes, .max_work = kMaxWork};
  auto plain_options = options;
  plain_options.kernels = isthmus::tosa::Kernels::kPlain;
  const auto fast = isthmus::tosa::Interpreter::load(*graph, options);
  const auto plain = isthmus::tosa::Interpreter::load(*graph, plain_options);
  if (!fast) {
    require(!fast.error().text().empty());
    return 0;
  }
  require(plain.has_value());  // it needs less memory
  const auto inputs = inputs_of(*fast);
  const auto found = fast->run(inputs);
  const auto expected = plain->run(inputs);
  require(found.has_value() == expected.has_value());
  if (!found) {
    require(!found.error().text().empty());
    return 0;
  }
  for (std::size_t i = 0; i < found->size(); ++i) {
    require(std::ranges::equal((*found)[i].bytes(), (*expected)[i].bytes()));
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  return isthmus::fuzz::mutate_flatbuffer(data, size, max, seed);
}
