// Compares all that a quantized layer depends on.
#include "quantize/apply/layer_cache.h"

#include <algorithm>

namespace isthmus {

QuantizedLayer LayerCache::get(const std::string& name, const Node& node, const TensorView& weights,
                               const TensorView* bias, float input_scale, const LayerOptions& options) {
  // A configuration changes the scales around a few layers: more than that is never asked for again.
  constexpr std::size_t kMaxEntries = 3;
  const std::byte* data = weights.storage.bytes().data();
  std::deque<Entry>& known = entries_[name];
  const auto found = std::ranges::find_if(known, [&](const Entry& entry) {
    return entry.weights == data && entry.input_scale == input_scale && entry.options == options;
  });
  if (found != known.end()) return found->layer;
  Entry entry{data, input_scale, options, quantize_layer(node, weights, bias, input_scale, options)};
  // The first is that of the model as it is without the changes that are tried.
  if (known.size() == kMaxEntries) known.erase(known.begin() + 1);
  return known.emplace_back(std::move(entry)).layer;
}

}  // namespace isthmus
