// What an op needs to know besides its inputs: one plain struct per set of attributes.
#pragma once

#include <compare>
#include <complex>
#include <cstdint>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "ir/dim.h"

namespace isthmus {

// A named member of an attribute struct. `fields()` of a struct lists them in the order in which they are printed;
// printer, parser and verifier need nothing else.
template <class Struct, class Member>
struct Field {
  const char* name;
  Member Struct::*member;
};
template <class Struct, class Member>
Field(const char*, Member Struct::*) -> Field<Struct, Member>;

struct NoAttrs {
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const NoAttrs&) const = default;
};

// An argument of a foreign op, as its frontend wrote it.
struct NoneArg {
  bool operator==(const NoneArg&) const = default;
};
// Stands for the node's next input: the tensors among the arguments, read from left to right, are the node's inputs.
struct TensorArg {
  bool operator==(const TensorArg&) const = default;
};
// A word of the frontend that is neither a number nor a string: "channels_last", "cpu".
struct WordArg {
  std::string word;
  bool operator==(const WordArg&) const = default;
};
struct ArgValue {
  std::variant<NoneArg, TensorArg, Dim, double, bool, std::string, DType, WordArg, std::complex<double>,
               std::vector<ArgValue>>
      value;
  bool operator==(const ArgValue&) const = default;
};
struct Arg {
  std::string name;  // may be empty
  ArgValue value;
  bool operator==(const Arg&) const = default;
};

// The op of a frontend that the table does not know: its name and all of its arguments.
struct ForeignAttrs {
  std::string target;  // "aten.conv2d.default"
  std::vector<Arg> args;
  bool operator==(const ForeignAttrs&) const = default;
};

using Attrs = std::variant<NoAttrs, ForeignAttrs>;

}  // namespace isthmus
