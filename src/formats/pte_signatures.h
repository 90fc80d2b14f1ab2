// The kernels of ExecuTorch that run on the host, and what each of them takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "formats/pte.h"

namespace isthmus::pte {

// Kinds of arguments, a letter each:
//   t  tensor                o  tensor or none        l  list of tensors      q  list of tensors or none each
//   n  number of any kind    m  the same or none
//   i  integer               j  the same or none
//   r  real                  b  bool                  s  text
//   I  list of integers      J  the same or none      R  list of reals or none
//   e  element type          f  the same or none
struct Signature {
  std::string_view name;       // with its overload after a dot
  std::string_view arguments;  // all of them, those with a default too; without outs
  std::size_t outs = 1;        // tensors that it writes; 0 for a primitive, which gives a number
  bool writes_first = false;   // it has no outs: its result is its first argument

  // How many arguments a call has: outs included, and once more the result.
  std::size_t arity() const { return arguments.size() + outs + 1; }
};

std::span<const Signature> signatures();
// Null if there is none of this name.
const Signature* find_signature(std::string_view name);

// Whether the arguments of a call are as many as the signature wants, and each of its kind.
bool fits(const Signature& signature, const Plan& plan, std::span<const ValueIndex> args);

// Element types as arguments: nothing where the format has no number for the type, or no type for the number.
std::optional<std::int64_t> number_of(DType dtype);
std::optional<DType> dtype_of_number(std::int64_t number);

}  // namespace isthmus::pte
