// Reads arbitrary bytes as a pickle, or as a file of torch.save if they look like a zip.
#include "formats/torch/pickle.h"
#include "formats/torch/torch_save.h"
#include "fuzz/zip_mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const isthmus::Blob file(std::as_bytes(std::span(data, size)), nullptr);
  if (!file.text().starts_with("PK")) {
    (void)isthmus::pickle::Heap::read(file.bytes());
    return 0;
  }
  const auto budget = std::make_shared<isthmus::InflateBudget>(size);
  const auto tensors = isthmus::read_saved_tensors(file, budget);
  if (tensors) {
    for (const auto& [name, tensor] : *tensors) {
      if (tensor.element_count() <= 4096) (void)isthmus::contiguous_bytes(tensor);
    }
  }
  (void)isthmus::read_saved_leaves(file, budget);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  return isthmus::fuzz::mutate(data, size, max, seed);
}
