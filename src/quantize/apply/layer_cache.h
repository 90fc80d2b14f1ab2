// Layers that were quantized before, in other configurations of the same model: most are the same in all of them.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "quantize/apply/weights.h"

namespace isthmus {

// Of one graph, whose constants and moments it must outlive: layers are known by their names, weights and moments by
// where they lie.
class LayerCache {
 public:
  // As `quantize_layer`, of the node whose result has this name.
  QuantizedLayer get(const std::string& name, const Node& node, const TensorView& weights, const TensorView* bias,
                     float input_scale, const LayerOptions& options);

 private:
  struct Entry {
    const std::byte* weights = nullptr;
    float input_scale = 0;
    LayerOptions options;
    QuantizedLayer layer;
  };
  std::map<std::string, std::deque<Entry>> entries_;
};

}  // namespace isthmus
