// One call of a frontend while it is read: its arguments by name, and the graph that its ops go to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/emitter.h"

namespace isthmus {

class Call : public Emitter {
 public:
  // `inputs` are the values of `graph` that the tensors among the arguments stand for.
  // `results` are the types that the frontend declares.
  Call(Graph& graph, const ForeignAttrs& attrs, std::vector<ValueId> inputs, std::vector<TensorType> results);

  // Another call at the same place, whose ops are named after the same value.
  Call(const Call& like, const ForeignAttrs& attrs, std::vector<ValueId> inputs, std::vector<TensorType> results);

  const std::string& target() const { return attrs_.target; }
  const ForeignAttrs& attrs() const { return attrs_; }

  // Arguments by the name of the schema; "self" and "input" are one name. An argument that is absent or none has the
  // given default; without one it is an error that names it.
  bool has(std::string_view name) const;
  Expected<ValueId> tensor(std::string_view name) const;
  std::optional<ValueId> tensor_if(std::string_view name) const;
  Expected<std::vector<ValueId>> tensors(std::string_view name) const;
  Expected<std::vector<std::optional<ValueId>>> optional_tensors(std::string_view name) const;
  Expected<std::int64_t> integer(std::string_view name, std::optional<std::int64_t> otherwise = {}) const;
  Expected<Dim> dim(std::string_view name, std::optional<Dim> otherwise = {}) const;
  using Emitter::integers;  // a constant of them
  // A single number is a list of one.
  Expected<std::vector<std::int64_t>> integers(std::string_view name,
                                               std::optional<std::vector<std::int64_t>> otherwise = {}) const;
  Expected<std::vector<Dim>> dims(std::string_view name, std::optional<std::vector<Dim>> otherwise = {}) const;
  Expected<double> number(std::string_view name, std::optional<double> otherwise = {}) const;
  Expected<std::vector<double>> numbers(std::string_view name, std::optional<std::vector<double>> otherwise = {}) const;
  Expected<bool> flag(std::string_view name, std::optional<bool> otherwise = {}) const;
  Expected<std::string> text(std::string_view name, std::optional<std::string> otherwise = {}) const;
  Expected<DType> dtype(std::string_view name, std::optional<DType> otherwise = {}) const;
  // An axis, already counted from the front of a tensor of the given rank.
  Expected<std::int64_t> axis(std::string_view name, std::int64_t rank,
                              std::optional<std::int64_t> otherwise = {}) const;

  // The argument as it was written; nothing where it is absent or none.
  const ArgValue* find(std::string_view name) const;
  bool is_scalar(std::string_view name) const;  // a number that is not a tensor
  bool is_float_scalar(std::string_view name) const;
  // A tensor, or a number as a 0-d constant of the given type. A tensor is cast to it.
  Expected<ValueId> operand(std::string_view name, DType dtype);

  // What the frontend declares of its results.
  std::size_t result_count() const { return results_.size(); }
  const TensorType& result(std::size_t i = 0) const { return results_[i]; }

  // A well-formed call that Isthmus has no ops for; it stays foreign.
  static tl::unexpected<Error> unsupported(std::string why) { return fail(ErrorKind::kUnsupported, std::move(why)); }
  // The same where only a model in training mode makes such a call.
  static tl::unexpected<Error> training_mode(std::string_view call) {
    return unsupported("the model was exported in training mode (" + std::string(call) +
                       "): call model.eval() before torch.export.export");
  }

 private:
  struct Slot {
    const Arg* arg;
    std::size_t first_input;  // of the tensors in it, an index into inputs_
  };
  void note_slots();
  const Slot* slot(std::string_view name) const;
  tl::unexpected<Error> wrong(std::string_view name, std::string_view expected) const;

  const ForeignAttrs& attrs_;
  std::vector<ValueId> inputs_;
  std::vector<TensorType> results_;
  std::vector<Slot> slots_;
};

// Most readers return one value.
inline Expected<std::vector<ValueId>> one(Expected<ValueId> value) {
  if (!value) return tl::unexpected<Error>(std::move(value).error());
  return std::vector<ValueId>{*value};
}

// The type in which PyTorch computes with two operands: categories bool < integer < float < complex; within a category
// the wider type; a number, or a 0-d tensor beside one with axes, counts only by its category.
DType promoted(DType a, bool a_is_weak, DType b, bool b_is_weak);

}  // namespace isthmus
