// Files of torch.save: a zip with a pickle and the storages it refers to.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/tensor.h"
#include "formats/torch/pt2.h"
#include "formats/zip.h"

namespace isthmus {

// A dict from names to tensors, as a state dict is saved. Views point into `file` where its storages are not
// compressed.
Expected<std::map<std::string, TensorView, std::less<>>> read_saved_tensors(const Blob& file,
                                                                            std::shared_ptr<InflateBudget> budget);

// Nested tuples, lists and dicts, flattened to their leaves in order.
Expected<std::vector<pt2::ExampleLeaf>> read_saved_leaves(const Blob& file, std::shared_ptr<InflateBudget> budget);

}  // namespace isthmus
