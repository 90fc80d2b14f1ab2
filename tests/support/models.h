// Opening, canonicalizing, running and comparing recorded models, for tests.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "formats/npz.h"
#include "frontends/torch/load.h"
#include "interpret/tensor.h"
#include "ir/graph.h"

namespace isthmus::test {

std::filesystem::path source_dir();
// The wider data, where it is there.
std::filesystem::path shared_dir();

Expected<Model> open(const std::filesystem::path& path, Diagnostics& diagnostics);
Expected<Graph> open_canonical(const std::filesystem::path& path);
std::vector<std::string> foreign_ops(const Graph& graph);

Tensor read_tensor(const std::filesystem::path& npy);
// The arrays prefix_0suffix, prefix_1suffix, ... by index, with gaps where one is missing.
std::vector<std::optional<Tensor>> arrays(Npz& npz, const std::string& prefix, const std::string& suffix);
// Elements as doubles, whatever their type.
std::vector<double> doubles(const Tensor& tensor);

// The largest absolute value of those that are finite.
double largest_of(const Tensor& tensor);

struct Difference {
  double max = 0;    // largest |a - b|; infinite where shapes differ, or where only one of two is not finite
  double range = 0;  // of the expected values: largest minus smallest
  std::string why;
};
Difference difference(const Tensor& found, const Tensor& expected);

// How far two results of a node in f32 may be apart, element by element, when both add the products of the same
// numbers, each in an order of its own: a sum of n products is within gamma(n) = n u / (1 - n u), u = 2^-24, times the
// sum of their magnitudes. Nothing for nodes that are not sums of products.
std::optional<Tensor> rounding_of(const Graph& graph, const Node& node, std::span<const Tensor> inputs);

// One archive of the operator corpus.
struct CorpusCase {
  std::string name;
  std::string source;     // the Python that was exported
  bool is_exact = false;  // values are only copied, so every bit must agree
  double rounding = 0;    // what float rounding may cost
};
std::vector<CorpusCase> corpus_cases(const std::filesystem::path& folder);
// Runs it on its recorded inputs. The empty string where every output agrees.
std::string check_corpus_case(const std::filesystem::path& folder, const CorpusCase& facts);

using Outputs = std::vector<std::optional<Tensor>>;
using Compute = std::function<Expected<Outputs>(std::span<const Tensor>)>;
// How far an output may be from what was recorded.
using Allow = std::function<double(const Tensor& expected)>;
// The same for other ways to compute it, and other bounds.
std::string check_recorded(const std::filesystem::path& folder, const CorpusCase& facts, const Compute& compute,
                           const Allow& allow);

}  // namespace isthmus::test
