// Where XNNPACK keeps the weights that it packs.
#pragma once

#include <xnnpack.h>

namespace isthmus::xnnpack {

// Its large blocks are as ours: see base/block.h.
const xnn_allocator& packed_memory();

}  // namespace isthmus::xnnpack
