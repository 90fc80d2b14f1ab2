// Lowers a segment as the delegate has it, and names the values of the graph that its values hold.
#include "targets/xnnpack/tap.h"

#include "targets/xnnpack/lowering.h"

namespace isthmus::xnnpack {

Expected<TappedRuntime> tapped(const Graph& graph, const Segment& segment) {
  const Layout layout = layout_of(graph, segment);
  Translation made = TRY(Lowering(graph, segment, layout).run());
  TappedSource source;
  for (const auto& [id, value] : made.ids) source.points.push_back({id, value, layout.orders[id.index]});
  for (DelegateInput& input : made.inputs) {
    source.inputs.push_back(input.value ? std::nullopt : std::optional(std::move(input.bytes)));
  }
  source.output_count = made.outputs.size();
  source.graph = std::move(made.graph);
  source.named_data = std::move(made.named_data);
  return TappedRuntime::build(std::move(source));
}

}  // namespace isthmus::xnnpack
