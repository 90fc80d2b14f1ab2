// Products of tensors whose axes are labelled, shared by the names that mean one.
#pragma once

#include <utility>
#include <vector>

#include "ops/call.h"

namespace isthmus {

// One label per axis; axes with the same label are the same.
using Labels = std::vector<std::int64_t>;

struct Labelled {
  ValueId value;
  Labels labels;
};

// As torch.matmul: vectors are rows on the left and columns on the right, and leave no axis in the result.
Expected<ValueId> matmul(Call& call, ValueId a, ValueId b);

// Multiplies, from left to right, and sums over all labels that the result does not have.
Expected<ValueId> contract(Call& call, std::vector<Labelled> operands, const Labels& result);

Expected<std::vector<ValueId>> read_einsum(Call& call);
Expected<std::vector<ValueId>> read_tensordot(Call& call);

}  // namespace isthmus
