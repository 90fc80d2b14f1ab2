// Turns an archive into a graph. No operator needs to be known: every node becomes a foreign op with its arguments.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/diag.h"
#include "base/expected.h"
#include "formats/torch/pt2.h"
#include "frontends/model.h"

namespace isthmus {

// "torch.ops.aten.cat.default" as messages and graphs say it: "aten.cat.default".
std::string short_target(std::string_view target);
// "node 3: aten.add.Tensor (module, file.py:7)": a node of an archive in messages.
std::string archive_node_text(std::size_t index, const pt2::Node& node);

// Constants of the graph are views of the archive's bytes and keep them alive.
// Nodes that only compute sizes (sym_size, arithmetic on symbols) become expressions in the graph's table and vanish.
Expected<Model> load(const pt2::Archive& archive, Diagnostics& diagnostics);

}  // namespace isthmus
