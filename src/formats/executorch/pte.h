// The program file that the ExecuTorch runtime loads (.pte): its bytes as plain structs, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/block.h"
#include "base/bytes.h"
#include "base/dtype.h"
#include "base/expected.h"

namespace isthmus::pte {

using ValueIndex = std::uint32_t;  // of Plan::values

enum class Dynamism : std::uint8_t { kStatic, kBounded, kUnbounded };

// Where in the plan's memory a tensor lies. Memory 0 is reserved: the first real one is 1.
struct Allocation {
  std::uint32_t memory_id = 1;
  std::uint64_t offset = 0;
  bool operator==(const Allocation&) const = default;
};

// data_index without allocation: a constant. Both: memory that begins with an initial value. Only an allocation:
// memory. Neither: the caller supplies the bytes.
struct Tensor {
  DType dtype = DType::kF32;
  std::vector<std::int32_t> sizes;      // where dynamic, the upper bounds
  std::vector<std::uint8_t> dim_order;  // axes from the outermost in memory to the innermost
  Dynamism dynamism = Dynamism::kStatic;
  bool requires_grad = false;
  std::uint32_t data_index = 0;  // of Program::constants or Program::initial_values; 0 is none
  std::optional<Allocation> allocation;
  std::string name = {};  // of a state: in the user's module, by which a runtime finds it; else mostly empty
  bool operator==(const Tensor&) const = default;

  bool is_constant() const { return data_index != 0 && !allocation; }
  // What a run leaves in it, the next one finds there; the first one finds the initial value.
  bool is_state() const { return data_index != 0 && allocation; }
};

struct None {
  bool operator==(const None&) const = default;
};
// The integers are values of their own, so that a program can compute them.
struct IntList {
  std::vector<ValueIndex> items;
  bool operator==(const IntList&) const = default;
};
struct DoubleList {
  std::vector<double> items;
  bool operator==(const DoubleList&) const = default;
};
struct BoolList {
  std::vector<bool> items;
  bool operator==(const BoolList&) const = default;
};
struct TensorList {
  std::vector<ValueIndex> items;  // each before the list itself
  bool operator==(const TensorList&) const = default;
};
struct OptionalTensorList {
  std::vector<std::optional<ValueIndex>> items;  // each before the list itself; may also be a None
  bool operator==(const OptionalTensorList&) const = default;
};
using Value = std::variant<None, std::int64_t, bool, double, std::string, Tensor, IntList, DoubleList, BoolList,
                           TensorList, OptionalTensorList>;

// Arguments are the schema's, outs included, and once more the result: for one out its index again, for several a
// TensorList of them.
struct KernelCall {
  std::uint32_t operator_index = 0;
  std::vector<ValueIndex> args;
  bool operator==(const KernelCall&) const = default;
};
// Arguments are inputs, then outputs.
struct DelegateCall {
  std::uint32_t delegate_index = 0;
  std::vector<ValueIndex> args;
  bool operator==(const DelegateCall&) const = default;
};
struct MoveCall {
  ValueIndex from = 0;
  ValueIndex to = 0;
  bool operator==(const MoveCall&) const = default;
};
struct JumpFalseCall {
  ValueIndex condition = 0;
  std::uint32_t destination = 0;  // an instruction of the same chain, or its end
  bool operator==(const JumpFalseCall&) const = default;
};
struct FreeCall {
  ValueIndex value = 0;
  bool operator==(const FreeCall&) const = default;
};
using Instruction = std::variant<KernelCall, DelegateCall, MoveCall, JumpFalseCall, FreeCall>;

struct Chain {
  std::vector<Instruction> instructions;
  bool operator==(const Chain&) const = default;
};

struct Operator {
  std::string name;
  std::string overload;  // empty for the default one
  bool operator==(const Operator&) const = default;
};

struct CompileSpec {
  std::string key;
  std::vector<std::byte> value;
  bool operator==(const CompileSpec&) const = default;
};

struct Delegate {
  std::string id;  // the target's name
  Blob blob;
  std::vector<CompileSpec> compile_specs;
};

struct Plan {
  std::string name;
  std::string container_inputs;  // how the frontend nests inputs and outputs, as it wrote it
  std::string container_outputs;
  std::vector<Value> values;
  std::vector<ValueIndex> inputs;
  std::vector<ValueIndex> outputs;
  std::vector<Chain> chains;
  std::vector<Operator> operators;
  std::vector<Delegate> delegates;
  std::vector<std::int64_t> buffer_sizes;  // by memory id; element 0 is reserved
};

struct NamedData {
  std::string key;
  Blob bytes;
};

struct Program {
  std::vector<Plan> plans;
  std::vector<Blob> constants;       // element 0 is reserved and empty
  std::vector<Blob> initial_values;  // the same for memory that begins with a value
  std::vector<NamedData> named_data;
};

// Bytes of the tensor at its upper bounds; nothing if they overflow or a size is negative.
std::optional<std::uint64_t> byte_count(const Tensor& tensor);

// The plan of this name; null if there is none.
const Plan* find_plan(const Program& program, std::string_view name);

// By the first bytes: worth a try of `read_program`, whose errors then say more.
bool looks_like_program(const Blob& file);

// Whether every index, size and order in it holds. What reads and writes programs calls it.
Expected<void> verify(const Program& program);

// Verifies everything: a program that is returned can be followed blindly. Large parts are views of the file.
Expected<Program> read_program(const Blob& file);

struct WriteOptions {
  std::uint64_t segment_alignment = 128;  // a power of two of at least 16; the size of a page suits files to be mapped
};

// The bytes of the file: equal programs give equal bytes, equal blobs are stored once. Fails where `verify` does.
Expected<LargeBytes> write_program(const Program& program, const WriteOptions& options = {});

}  // namespace isthmus::pte
