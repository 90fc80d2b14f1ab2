// TOSA graphs put together by hand, and the recorded cases of single operators, for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "formats/tosa/tosa.h"
#include "interpret/tensor.h"
#include "targets/tosa/interpreter.h"

namespace isthmus::test {

// Values by index. Constants become an operator and a value at once.
class TosaBuilder {
 public:
  tosa::ValueIndex input(tosa::Type type, std::vector<std::int32_t> shape);
  tosa::ValueIndex constant(tosa::Type type, std::vector<std::int32_t> shape, const std::vector<std::int64_t>& numbers);
  tosa::ValueIndex shape(const std::vector<std::int64_t>& sizes);
  tosa::ValueIndex zero(tosa::Type type, std::int64_t value = 0) { return constant(type, {1}, {value}); }
  // With the given output type and shape.
  tosa::ValueIndex op(tosa::Op op, tosa::Fields fields, std::vector<tosa::ValueIndex> inputs, tosa::Type type,
                      std::vector<std::int32_t> shape);
  void output(tosa::ValueIndex value) { graph.outputs.push_back(value); }

  tosa::Graph graph;

 private:
  tosa::ValueIndex value(tosa::Type type, std::vector<std::int32_t> shape, Blob data = {});
  std::string next_name(const char* stem);
};

// As the file packs them.
std::vector<std::byte> packed(tosa::Type type, const std::vector<std::int64_t>& numbers);

Blob file_of(const tosa::Graph& graph);

// Random elements over the whole range of the port's type.
Tensor random_tensor(const tosa::Port& port, std::mt19937& random);
std::vector<Tensor> random_inputs(const tosa::Interpreter& interpreter, std::mt19937& random);

// The outputs of the plain kernels; the fast ones, on one thread and on three, must agree bit for bit.
std::vector<Tensor> run_both_ways(const tosa::Graph& graph, std::span<const Tensor> inputs);
std::vector<std::int64_t> integers(const Tensor& tensor);

// Files by path, of a folder or of a .tar.gz.
using Files = std::map<std::string, Blob>;
Files files_of_folder(const std::filesystem::path& folder);
Files files_of_archive(const std::filesystem::path& tar_gz);
// The folders of graph.tosa files whose path begins with this.
std::vector<std::string> cases_in(const Files& files, const std::string& prefix);
// Runs one of them; the empty string where all its outputs are as recorded.
std::string check_recorded_case(const Files& files, const std::string& folder);

}  // namespace isthmus::test
