// Access to the values of a pickle.
#include <limits>

#include "base/bytes.h"
#include "base/check.h"
#include "formats/torch/pickle.h"

namespace isthmus::pickle {

Kind Value::kind() const { return heap_->cells_[index_].kind; }

bool Value::as_bool() const {
  CHECK(kind() == Kind::kBool, "a pickled value is read as what it is not");
  return heap_->cells_[index_].payload.integer != 0;
}

std::int64_t Value::as_integer() const {
  CHECK(kind() == Kind::kInteger, "a pickled value is read as what it is not");
  return heap_->cells_[index_].payload.integer;
}

double Value::as_float() const {
  CHECK(kind() == Kind::kFloat, "a pickled value is read as what it is not");
  return heap_->cells_[index_].payload.number;
}

std::string_view Value::as_text() const {
  CHECK(kind() == Kind::kText, "a pickled value is read as what it is not");
  return heap_->cells_[index_].payload.text;
}

std::size_t Value::item_count() const {
  CHECK(kind() == Kind::kTuple || kind() == Kind::kList || kind() == Kind::kDict, "a pickled value has no items");
  return heap_->containers_[heap_->cells_[index_].payload.where].size();
}

Value Value::item(std::size_t position) const {
  CHECK(position < item_count(), "an item past the end of a pickled container");
  return {heap_, heap_->containers_[heap_->cells_[index_].payload.where][position]};
}

Tensor Value::as_tensor() const {
  CHECK(kind() == Kind::kTensor, "a pickled value is read as what it is not");
  const Heap::TensorCell& tensor = heap_->tensors_[heap_->cells_[index_].payload.where];
  const Heap::StorageCell& storage = heap_->storages_[tensor.storage];
  // An untyped storage counts bytes.
  const auto bytes = multiply_sizes(storage.count, storage.dtype ? size_of(*storage.dtype) : 1);
  return {tensor.dtype,  storage.key,           bytes.value_or(std::numeric_limits<std::uint64_t>::max()),
          tensor.offset, {heap_, tensor.sizes}, {heap_, tensor.strides}};
}

}  // namespace isthmus::pickle
