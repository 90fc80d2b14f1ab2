// Two models whose one operator cuts them into islands where it is unknown. Their layers are those of the files that
// ExecuTorch made of such models before and after it learned the operators; their weights are made up.
#pragma once

#include <cstddef>
#include <string_view>

#include "ir/graph.h"

namespace isthmus::test {

// Two streams of sensors that `join` makes one, and a detector behind it.
Graph joined_streams(std::string_view join = "aten.concat.default");

// ConvNeXt blocks one behind the other, each of which moves the channels back and forth by `move`.
Graph convnext_blocks(std::size_t count, std::string_view move = "aten.moveaxis.int");

}  // namespace isthmus::test
