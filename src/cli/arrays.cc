// Inputs from .npy files, outputs to them.
#include "cli/arrays.h"

#include <fmt/format.h>

#include <filesystem>

#include "formats/npy.h"
#include "interpret/half.h"

namespace isthmus {
namespace {

Expected<void> write_array(const std::string& path, const Tensor& tensor) {
  const std::vector<std::byte> bytes = TRY(write_npy(tensor.view()));
  return write_file(path, bytes);
}

}  // namespace

Expected<std::vector<Tensor>> read_arrays(std::span<const std::string> paths) {
  std::vector<Tensor> tensors;
  for (const std::string& path : paths) {
    tensors.push_back(Tensor::from(TRY(within(read_npy(TRY(map_file(path))), path))));
  }
  return tensors;
}

Expected<std::vector<RunSummary::Written>> write_outputs(const std::string& folder,
                                                         std::span<const std::optional<Tensor>> outputs) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) {
    return fail(ErrorKind::kEnvironment, fmt::format("cannot create {}: {}", folder, problem.message()));
  }
  std::vector<RunSummary::Written> written;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]) continue;
    // NumPy has no bfloat16: such an output is written as f32, which holds the same numbers.
    const Tensor tensor = outputs[i]->dtype() == DType::kBF16 ? widened(*outputs[i]) : *outputs[i];
    const std::string name = fmt::format("output_{}", i);
    const std::string path = (std::filesystem::path(folder) / (name + ".npy")).string();
    TRY(within(write_array(path, tensor), name));
    written.push_back({name, std::string(name_of(tensor.dtype())), tensor.sizes(), path, 0});
  }
  return written;
}

}  // namespace isthmus
