// By the position of the inputs.
#include "session/program_sizes.h"

namespace isthmus {

SizesOfInputs sizes_of(const std::vector<run::TensorInfo>& inputs) {
  SizesOfInputs sizes;
  for (const run::TensorInfo& input : inputs) {
    sizes.push_back(input.is_dynamic ? std::nullopt : std::optional(input.sizes));
  }
  return sizes;
}

PrepareOptions at_sizes(PrepareOptions options, const Graph& model, const SizesOfInputs& sizes) {
  for (std::size_t i = 0; i < sizes.size() && i < model.inputs().size(); ++i) {
    if (sizes[i]) options.shapes.inputs[model[model.inputs()[i]].name] = *sizes[i];
  }
  return options;
}

}  // namespace isthmus
