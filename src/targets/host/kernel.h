// The kernels of ExecuTorch that run on the host, a row each: the name by which program files call it, what it takes,
// which op is written as a call of it, and how a call of it is run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "formats/executorch/pte.h"
#include "ir/op.h"

namespace isthmus::host {

class NodeWriter;
class RunningCall;

// The element types that the kernels of an op take.
enum class ElementTypes : std::uint8_t {
  kBytes,    // all: it only moves them
  kNumbers,  // but unsigned ones of more than 8 bits, and floats of less than 16
  kNoBool,   // of those, all but bool
};

// How an op is written as calls.
struct WrittenOp {
  Op op{};
  Expected<void> (*write)(NodeWriter&) = nullptr;  // fails where the kernel cannot do what the node asks
  ElementTypes types = ElementTypes::kNumbers;
  bool takes_quantized = false;  // others would take quantized values for numbers
  bool keeps_order = false;      // element by element in memory, whatever the order of axes: one input, one result
  bool widens = false;           // its kernels round sums or factors of f16 and bf16 to these: it computes with f32
  std::string_view kernel = {};  // that makes the result: of a row, the row's; empty where that depends on the node
};

// Kernels that only convert model inputs and outputs between floats and quantized values, or write to states.
enum class IoRole : std::uint8_t { kNone, kQuantizes, kDequantizes, kWritesBack };

// Kinds of arguments, a letter each:
//   t  tensor                o  tensor or none        l  list of tensors      q  list of tensors or none each
//   n  number of any kind    m  the same or none
//   i  integer               j  the same or none
//   r  real                  b  bool                  s  text
//   I  list of integers      J  the same or none      R  list of reals or none
//   e  element type          f  the same or none
struct Kernel {
  std::string_view name;                // with its overload after a dot
  std::string_view arguments;           // all of them, those with a default too; without outs
  Expected<void> (*run)(RunningCall&);  // of a call with as many arguments as it has
  WrittenOp written = {};               // nothing where no op of ours is this kernel
  IoRole io_role = IoRole::kNone;
  std::size_t outs = 1;       // tensors that it writes; 0 for a primitive, which gives a number
  bool writes_first = false;  // it has no outs: its result is its first argument
  bool writes_list = false;   // its out is a list of tensors, as long as the result has parts

  // How many arguments a call has: outs included, and once more the result.
  std::size_t arity() const { return arguments.size() + outs + 1; }
};

// All of them, sorted by name.
std::span<const Kernel> kernels();
// Null if there is none of this name.
const Kernel* find_kernel(std::string_view name);

// Every op that can be written as calls of them.
std::span<const WrittenOp> written_ops();
// Null where there are none for it.
const WrittenOp* find_written_op(Op op);

// Whether the arguments of a call are as many as the kernel wants, and each of its kind.
bool fits(const Kernel& kernel, const pte::Plan& plan, std::span<const pte::ValueIndex> args);

// The name under which the kernel of an operator is found, and the operator of this name.
std::string full_name(const pte::Operator& op);
pte::Operator operator_of(std::string_view name);

// Whether the call quantizes an input or a state of the plan, dequantizes one of its outputs or what is written to a
// state, or copies it there.
bool is_io_call(const pte::Plan& plan, const Kernel& kernel, std::span<const pte::ValueIndex> args);

}  // namespace isthmus::host
