// The tensors of an archive, whichever way it stores them.
#pragma once

#include <map>
#include <string>

#include "base/expected.h"
#include "base/tensor.h"
#include "formats/zip.h"

namespace isthmus::pt2 {

using TensorMap = std::map<std::string, TensorView, std::less<>>;

// Raw storages: the JSON entry `config` describes the tensors, whose bytes are entries of the same folder.
Expected<TensorMap> read_raw_tensors(Zip& zip, const ZipEntry& config);

// Pickled tensors: the entry is a file of torch.save; an empty one holds none.
Expected<TensorMap> read_pickled_tensors(Zip& zip, const ZipEntry& entry);

}  // namespace isthmus::pt2
