// Nodes that compute the same thing become one.
#include <algorithm>

#include "transforms/simplify/rewrites.h"

namespace isthmus {

Replacement merge_equal(const Site& site) {
  // A model may return the same numbers twice: two results stay two.
  const auto is_output = [&](const Output& output) {
    const auto* value = std::get_if<ValueId>(&output.value);
    return value != nullptr && *value == site.node.outputs[0];
  };
  const auto found = site.equal_nodes.find(site.node, site.inputs);
  if (!found || std::ranges::any_of(site.rewriter.source().outputs(), is_output)) return unchanged();
  return found;
}

}  // namespace isthmus
