// Follows the loader of the runtime: runtime/executor/method.cpp, tensor_parser_portable.cpp and the structures in
// core/.
#include "program/fit/method_memory.h"

#include <algorithm>

#include "formats/executorch/xnn_blob.h"

namespace isthmus::fit {
namespace {

constexpr std::uint64_t kMaxRank = 16;          // of a tensor, in the runtime
constexpr std::uint64_t kValueBytes = 16;       // a number of 8 bytes or a pointer, and a tag
constexpr std::uint64_t kPointersOfTensor = 7;  // sizes, order, strides, data, rank, count, bound; and 4 bytes of types

std::uint64_t round_up(std::uint64_t number, std::uint64_t to) { return (number + to - 1) / to * to; }

// An allocator that only counts.
class Arena {
 public:
  void take(std::uint64_t bytes, std::uint64_t alignment) { used_ = round_up(used_, alignment) + bytes; }
  std::uint64_t used() const { return used_; }

 private:
  std::uint64_t used_ = 0;
};

class Loading {
 public:
  Loading(const pte::Plan& plan, std::uint64_t pointer) : plan_(plan), pointer_(pointer) {}

  MethodMemory run() {
    MethodMemory result;
    arena_.take(kValueBytes * plan_.values.size(), 8);
    if (!plan_.inputs.empty()) arena_.take(plan_.inputs.size(), 1);
    for (const pte::Value& value : plan_.values) std::visit([this](const auto& of) { add(of); }, value);
    result.values = arena_.used();
    add_delegates();
    result.delegates = arena_.used() - result.values;
    for (const pte::Chain& chain : plan_.chains) add(chain, result);
    result.instructions = arena_.used() - result.values - result.delegates;
    result.bytes = arena_.used();
    return result;
  }

 private:
  void add_pointers(std::uint64_t count) { arena_.take(count * pointer_, pointer_); }

  template <class Number>
  void add(const Number&) {}  // in the value itself
  void add(const std::string&) { add_pointers(2); }
  void add(const pte::DoubleList&) { add_pointers(2); }
  void add(const pte::BoolList&) { add_pointers(2); }
  void add(const pte::IntList& list) {
    add_pointers(list.items.size());
    arena_.take(8 * list.items.size(), 8);
    add_pointers(3);
  }
  void add(const pte::TensorList& list) {
    add_pointers(list.items.size());
    add_pointers(list.items.size());
    add_pointers(3);
  }
  void add(const pte::OptionalTensorList& list) {
    add_pointers(2 * list.items.size());
    add_pointers(list.items.size());
    add_pointers(3);
  }
  void add(const pte::Tensor& tensor) {
    const std::uint64_t rank = tensor.sizes.size();
    if (tensor.dynamism != pte::Dynamism::kStatic) {
      arena_.take(4 * rank, 4);
      arena_.take(rank, 1);
    }
    arena_.take(4 * rank, 4);
    arena_.take(round_up(kPointersOfTensor * pointer_ + 4, pointer_), pointer_);
  }

  void add_delegates() {
    // A buffer that can be freed: a pointer of 4 or 8 bytes and a function, which of the two, a context and a size.
    const std::uint64_t buffer = round_up(round_up(8 + pointer_, 8) + 1, 8) + 2 * pointer_;
    arena_.take(plan_.delegates.size() * round_up(buffer + 2 * pointer_, 8), 8);
    for (const pte::Delegate& delegate : plan_.delegates) {
      add_pointers(3 * delegate.compile_specs.size());
      // The handle of the backend: five lists, the library's runtime, a workspace, a cache, a profiler, two flags.
      if (delegate.id == xnn::kBackendId) add_pointers(5 * 3 + 2 + 2 * 2 + 1 + 1);
    }
  }

  void add(const pte::Chain& chain, MethodMemory& result) {
    if (&chain == plan_.chains.data()) add_pointers(4 * plan_.chains.size());
    add_pointers(chain.instructions.size());
    add_pointers(2 * chain.instructions.size());
    for (const pte::Instruction& instruction : chain.instructions) {
      if (const auto* call = std::get_if<pte::DelegateCall>(&instruction)) add_pointers(call->args.size());
      const auto* call = std::get_if<pte::KernelCall>(&instruction);
      if (call == nullptr) continue;
      add_pointers(call->args.size());
      std::uint64_t ranks = 0;
      for (const pte::ValueIndex arg : call->args) {
        if (const auto* tensor = std::get_if<pte::Tensor>(&plan_.values[arg])) ranks += tensor->sizes.size();
      }
      const std::uint64_t types = 3 * pointer_ * call->args.size();
      result.lookup_temp = std::max(result.lookup_temp, types + kMaxRank * call->args.size());
      result.lookup_without_temp += round_up(types + ranks, pointer_);
    }
  }

  const pte::Plan& plan_;
  std::uint64_t pointer_;
  Arena arena_;
};

}  // namespace

MethodMemory method_memory(const pte::Plan& plan, std::uint64_t pointer_bytes) {
  return Loading(plan, pointer_bytes).run();
}

}  // namespace isthmus::fit
