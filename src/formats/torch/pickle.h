// The values in a pickle that torch.save wrote. Nothing in it is ever run: it may build plain values and tensors
// from a short list of names, and whatever else it asks for is refused by name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/expected.h"

namespace isthmus::pickle {

enum class Kind : std::uint8_t {
  kNone,
  kBool,
  kInteger,
  kFloat,
  kText,
  kTuple,
  kList,
  kDict,
  kGlobal,   // a function or a type from the list
  kStorage,  // a persistent id
  kTensor,
};

class Heap;
struct Tensor;

// A handle to one value; valid as long as its heap stays where it is. Values are shared, and lists and dicts can even
// contain themselves: bound every walk over them.
class Value {
 public:
  Value(const Heap* heap, std::uint32_t index) : heap_(heap), index_(index) {}

  Kind kind() const;
  // Each demands its kind.
  bool as_bool() const;
  std::int64_t as_integer() const;
  double as_float() const;
  std::string_view as_text() const;
  // Elements of a tuple or list; keys and values of a dict in turn.
  std::size_t item_count() const;
  Value item(std::size_t position) const;
  Tensor as_tensor() const;

 private:
  friend class Heap;
  const Heap* heap_;
  std::uint32_t index_;
};

// The parts of a tensor; sizes and strides are tuples of integers. Nothing of it is checked against the storage.
struct Tensor {
  DType dtype;
  std::string_view storage_key;  // its bytes are the entry data/<key>
  std::uint64_t storage_bytes;   // as the pickle states them
  std::int64_t offset;           // in elements
  Value sizes;
  Value strides;
};

// Owns the values of one pickle. Its texts point into the bytes it was read from.
class Heap {
 public:
  // Runs in time and memory proportional to the bytes, of which it takes at most 8 MiB.
  static Expected<Heap> read(std::span<const std::byte> bytes);

  Value root() const { return {this, root_}; }

 private:
  friend class Value;
  friend class Machine;
  union Payload {
    std::int64_t integer = 0;  // kBool, kInteger
    double number;
    std::string_view text;
    std::uint32_t where;  // containers, globals, storages, tensors: an index into the list of its kind
  };
  struct Cell {
    Kind kind;
    Payload payload;
  };
  struct StorageCell {
    std::optional<DType> dtype;  // nothing: bytes, whose type the tensor tells
    std::string_view key;
    std::uint64_t count = 0;
  };
  struct TensorCell {
    DType dtype = DType::kF32;
    std::uint32_t storage = 0;  // an index into storages_
    std::int64_t offset = 0;
    std::uint32_t sizes = 0, strides = 0;  // cells
  };

  std::vector<Cell> cells_;
  std::vector<std::vector<std::uint32_t>> containers_;
  std::vector<StorageCell> storages_;
  std::vector<TensorCell> tensors_;
  std::uint32_t root_ = 0;
};

}  // namespace isthmus::pickle
