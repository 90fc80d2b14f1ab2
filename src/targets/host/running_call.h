// One call of a kernel on the host: its arguments, each asked for by place and kind.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"
#include "interpret/tensor.h"
#include "ir/attrs.h"
#include "ir/op.h"
#include "targets/host/slot.h"

namespace isthmus::host {

// Every access fails where the argument is of another kind.
class RunningCall {
 public:
  RunningCall(std::vector<Slot>& slots, std::span<const pte::ValueIndex> args, std::uint64_t max_bytes)
      : slots_(slots), args_(args), max_bytes_(max_bytes) {}

  bool is_none(std::size_t i) const { return std::holds_alternative<pte::None>(slot(i)); }
  bool is_real(std::size_t i) const { return std::holds_alternative<double>(slot(i)); }
  bool is_boolean(std::size_t i) const { return std::holds_alternative<bool>(slot(i)); }
  bool is_tensor(std::size_t i) const { return std::holds_alternative<LiveTensor>(slot(i)); }
  Expected<Tensor> tensor(std::size_t i) const;
  Expected<std::vector<Tensor>> tensors(std::size_t i) const;
  // Empty where the list has none.
  Expected<std::vector<std::optional<Tensor>>> optional_tensors(std::size_t i) const;
  // Whole numbers; also of a bool.
  Expected<std::int64_t> integer(std::size_t i) const;
  // Any number.
  Expected<double> number(std::size_t i) const;
  Expected<bool> boolean(std::size_t i) const;
  Expected<std::string> text(std::size_t i) const;
  Expected<std::vector<std::int64_t>> integers(std::size_t i) const;
  // One number for each of two axes; a single one stands for both. And the same number for both sides of each.
  Expected<Ints> pair(std::size_t i) const;
  Expected<Ints> both_sides(std::size_t i) const;
  // Negative axes count from the end; fails outside of the rank.
  Expected<std::int64_t> axis(std::size_t i, std::int64_t rank) const;
  // A list of such axes, as it is.
  Expected<std::vector<std::int64_t>> axes(std::size_t i, std::int64_t rank) const;
  Expected<std::vector<double>> numbers(std::size_t i) const;
  // Element types by their numbers in the format.
  Expected<DType> dtype(std::size_t i) const;

  // The result of one op of the table by ExecuTorch's kernel, after all that the op demands has been checked.
  Expected<Tensor> compute(Op op, const Attrs& attrs, const std::vector<Tensor>& inputs) const {
    return compute_in(std::nullopt, op, attrs, inputs);
  }
  // Several arguments instead of a list in braces, in which TRY would leak.
  template <std::same_as<Tensor>... Tensors>
  Expected<Tensor> compute(Op op, const Attrs& attrs, const Tensors&... inputs) const {
    return compute(op, attrs, std::vector<Tensor>{inputs...});
  }

  Expected<void> set_tensor(std::size_t i, const Tensor& tensor);
  // The tensors of a list, as many as it has.
  Expected<void> set_tensors(std::size_t i, const std::vector<Tensor>& tensors);
  // Both at once: computes argument i, without a copy where its memory is as the kernels write it.
  Expected<void> store(std::size_t i, Op op, const Attrs& attrs, const std::vector<Tensor>& inputs);
  template <std::same_as<Tensor>... Tensors>
  Expected<void> store(std::size_t i, Op op, const Attrs& attrs, const Tensors&... inputs) {
    return store(i, op, attrs, std::vector<Tensor>{inputs...});
  }
  // Zeros that a kernel may write its result to before it sets argument i to them: in that argument's own memory where
  // it is as the kernels write it, and none of the inputs'.
  Tensor place(std::size_t i, DType dtype, const std::vector<std::int64_t>& sizes,
               std::span<const Tensor> inputs) const {
    std::byte* const to = memory(i, dtype, sizes, inputs);
    return to == nullptr ? Tensor(dtype, sizes) : Tensor::over(dtype, sizes, to);
  }
  Expected<void> set_number(std::size_t i, std::variant<std::int64_t, double, bool> number);

 private:
  // Null where a result cannot lie there.
  std::byte* memory(std::size_t i, DType dtype, const std::vector<std::int64_t>& sizes,
                    std::span<const Tensor> inputs) const;
  Expected<Tensor> compute_in(std::optional<std::size_t> place, Op op, const Attrs& attrs,
                              const std::vector<Tensor>& inputs) const;
  const Slot& slot(std::size_t i) const { return slots_[args_[i]]; }

  std::vector<Slot>& slots_;
  std::span<const pte::ValueIndex> args_;
  std::uint64_t max_bytes_;  // of one result
};

}  // namespace isthmus::host
