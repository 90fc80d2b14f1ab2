// How arrays of files become inputs of a graph: their names, element types and shapes. Nothing here reads an element.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "formats/npz.h"
#include "interpret/tensor.h"
#include "ir/graph.h"

namespace isthmus {

// What a file has for one input.
struct OfferedArray {
  std::string label;  // in messages: array "x"
  DType dtype = DType::kF32;
  std::vector<std::int64_t> sizes;
  bool counts_samples = true;  // with its first axis; else the array is one sample

  std::string text() const;  // array "x" is f32[32,3,8,8]
};
OfferedArray offered(const NpzArray& array, bool counts_samples);

// How an array becomes an input.
struct SampleFit {
  std::int64_t rows = 1;            // of the array that make one sample, where its first axis counts samples
  std::vector<std::int64_t> sizes;  // of the input, batch axis included
};

// "; its axes seem to be in another order ...", where they are; else empty.
std::string order_hint(const TensorType& input, const OfferedArray& array);

// For each input of the graph the array that is named as it is, or for each the one that is named input_0, input_1, ...
Expected<std::vector<const NpzArray*>> arrays_for_inputs(const Npz& npz, const Graph& graph);

// One array per input. They fit the inputs' types or can be converted to them, and symbols agree between them.
Expected<std::vector<SampleFit>> fit_samples(const Graph& graph, std::span<const OfferedArray> arrays);

// At least one; fails where arrays do not hold the same number. For arrays whose first axis counts samples.
Expected<std::int64_t> count_samples(std::span<const OfferedArray> arrays, std::span<const SampleFit> fits);

// Notes each input whose numbers are converted, once.
void note_conversions(const Graph& graph, std::span<const OfferedArray> arrays, Diagnostics& diagnostics);
Tensor as_input(const Tensor& tensor, DType dtype, std::vector<std::int64_t> sizes);

}  // namespace isthmus
