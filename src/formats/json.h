// JSON text as a tree of values that know where they stand, so that every error names its place:
// "graph_module.graph.nodes[17].inputs[2].arg: expected an integer, got a string".
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/expected.h"

namespace isthmus::json {

enum class Kind : std::uint8_t { kNull, kBool, kInteger, kNumber, kString, kArray, kObject };

class Document;
class Children;

// A handle; valid as long as its document stays where it is.
class Value {
 public:
  Value(const Document* document, std::uint32_t index) : document_(document), index_(index) {}

  Kind kind() const;
  std::string_view key() const;  // of a member of an object

  // Elements of an array or members of an object, in the file's order. A failure for all other kinds.
  Expected<Children> elements() const;
  Expected<Children> members() const;

  // Members by name. To `find`, absent and null are alike; `get` demands one. A failure if this is not an object.
  Expected<std::optional<Value>> find(std::string_view key) const;
  Expected<Value> get(std::string_view key) const;
  // The only member of an object, as unions are written.
  Expected<Value> only_member() const;

  Expected<bool> as_bool() const;
  Expected<std::int64_t> as_integer() const;
  Expected<double> as_number() const;  // integers too
  Expected<std::string_view> as_text() const;

  // "path: what"
  tl::unexpected<Error> error(std::string_view what, ErrorKind kind = ErrorKind::kBadInput) const;
  // "path: expected ..., got ..."
  tl::unexpected<Error> expected(std::string_view what) const;

 private:
  friend class Children;
  const Document* document_;
  std::uint32_t index_;
};

// The values below one, as a range.
class Children {
 public:
  Children(const Document* document, std::uint32_t begin, std::uint32_t end)
      : document_(document), begin_(begin), end_(end) {}

  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = Value;
    Iterator() = default;
    Iterator(const Document* document, std::uint32_t index) : document_(document), index_(index) {}
    Value operator*() const { return {document_, index_}; }
    Iterator& operator++();
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const Document* document_ = nullptr;
    std::uint32_t index_ = 0;
  };

  Iterator begin() const { return {document_, begin_}; }
  Iterator end() const { return {document_, end_}; }
  bool empty() const { return begin_ == end_; }

 private:
  const Document* document_;
  std::uint32_t begin_;
  std::uint32_t end_;
};

// The tree in one array, depth first: a value is followed by its children, and knows where they end.
class Document {
 public:
  // Refuses broken text, duplicate keys, nesting deeper than 256, more than 64 MiB of text and 4 Mi values.
  static Expected<Document> parse(std::string_view text);

  Value root() const { return {this, 0}; }

 private:
  friend class Value;
  friend class Children;
  friend class Builder;
  struct Slot {
    Kind kind = Kind::kNull;
    std::uint32_t key_at = 0, key_size = 0;    // in texts_
    std::uint32_t text_at = 0, text_size = 0;  // of a string, in texts_
    std::uint32_t end = 0;                     // one past the last value below this one
    union {
      std::int64_t integer = 0;  // kBool, kInteger
      double number;             // kNumber
    };
  };

  std::string_view text(std::uint32_t at, std::uint32_t size) const {
    return std::string_view(texts_).substr(at, size);
  }
  std::string path_of(std::uint32_t index) const;

  std::vector<Slot> slots_;
  std::string texts_;
};

// Every element of an array, read by a function that gives an Expected<T>.
template <class Read>
auto read_each(Value array, Read read)
    -> Expected<std::vector<typename std::invoke_result_t<Read, Value>::value_type>> {
  std::vector<typename std::invoke_result_t<Read, Value>::value_type> items;
  for (const Value element : TRY(array.elements())) items.push_back(TRY(read(element)));
  return items;
}

}  // namespace isthmus::json
