// Reads arbitrary bytes as a torch.export archive, looks at everything that comes out, and loads it as a graph.
#include "formats/torch/pt2.h"
#include "frontends/torch/load.h"
#include "fuzz/zip_mutator.h"
#include "ir/text.h"

namespace {

// Elements of small tensors; large ones cost time and teach nothing new.
void touch(const isthmus::TensorView& tensor) {
  if (tensor.element_count() > 4096) return;
  const isthmus::Blob elements = isthmus::contiguous_bytes(tensor);
  unsigned sum = 0;
  for (const std::byte b : elements.bytes()) sum += std::to_integer<unsigned>(b);
  [[maybe_unused]] static volatile unsigned sink;
  sink = sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const isthmus::Blob file(std::as_bytes(std::span(data, size)), nullptr);
  const auto archive = isthmus::pt2::read_archive(file);
  if (!archive) {
    if (archive.error().text().empty()) __builtin_trap();
    return 0;
  }
  if (!isthmus::pt2::looks_like_archive(file)) __builtin_trap();
  for (const auto& [name, tensor] : archive->weights) touch(tensor);
  for (const auto& [name, tensor] : archive->constants) touch(tensor);
  for (const auto& leaf : archive->examples) {
    if (const auto* tensor = std::get_if<isthmus::TensorView>(&leaf)) touch(*tensor);
  }
  isthmus::Diagnostics diagnostics;
  const auto model = isthmus::load(*archive, diagnostics);
  if (!model) {
    if (model.error().text().empty()) __builtin_trap();
    return 0;
  }
  const std::string text = isthmus::print(model->graph);
  const auto again = isthmus::parse_graph(text);
  if (!again || isthmus::print(*again) != text) __builtin_trap();
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  return isthmus::fuzz::mutate(data, size, max, seed);
}
