// Names of structural operators, and what unrolling writes in their place.
#include "ops/onnx/structure.h"

#include <algorithm>
#include <array>

#include "ops/families/movement.h"
#include "ops/onnx/families.h"
#include "ops/onnx/reading.h"

namespace isthmus {
namespace onnx_ops {
namespace {

struct StructureName {
  std::string_view name;
  OnnxStructure structure;
};
constexpr std::array kStructures = {
    StructureName{"If", OnnxStructure::kIf},
    StructureName{"Loop", OnnxStructure::kLoop},
    StructureName{"Scan", OnnxStructure::kScan},
    StructureName{"SequenceConstruct", OnnxStructure::kSequenceConstruct},
    StructureName{"SequenceEmpty", OnnxStructure::kSequenceEmpty},
    StructureName{"SequenceAt", OnnxStructure::kSequenceAt},
    StructureName{"SequenceInsert", OnnxStructure::kSequenceInsert},
    StructureName{"SequenceErase", OnnxStructure::kSequenceErase},
    StructureName{"SequenceLength", OnnxStructure::kSequenceLength},
    StructureName{"ConcatFromSequence", OnnxStructure::kConcatFromSequence},
    StructureName{"SplitToSequence", OnnxStructure::kSplitToSequence},
    StructureName{"SequenceMap", OnnxStructure::kSequenceMap},
    StructureName{"Optional", OnnxStructure::kOptional},
    StructureName{"OptionalGetElement", OnnxStructure::kOptionalGetElement},
    StructureName{"OptionalHasElement", OnnxStructure::kOptionalHasElement},
};

Expected<Values> read_stack(Call& call) {
  Values inputs = TRY(call.tensors("inputs"));
  if (inputs.empty()) return bad_input("there are no tensors to stack");
  const std::int64_t axis = TRY(call.axis("axis", call.rank(inputs[0]) + 1));
  for (ValueId& input : inputs) input = TRY(unsqueeze(call, input, axis));
  if (inputs.size() == 1) return one(inputs[0]);
  return one(call.cat(std::move(inputs), axis));
}

Expected<Values> read_join(Call& call) {
  Values inputs = TRY(call.tensors("inputs"));
  if (inputs.empty()) return bad_input("the list of tensors is empty");
  const std::int64_t axis = TRY(call.axis("axis", call.rank(inputs[0])));
  if (inputs.size() == 1) return one(inputs[0]);
  return one(call.cat(std::move(inputs), axis));
}

Expected<Values> read_select(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  const std::int64_t axis = TRY(call.axis("axis", call.rank(input)));
  const std::int64_t start = TRY(call.integer("start"));
  const std::int64_t size = TRY(call.integer("size"));
  const ValueId part = TRY(call.slice(input, axis, start, start + size));
  if (TRY(call.flag("keepdims", true))) return one(part);
  Shape shape = call.shape(part);
  shape.erase(shape.begin() + axis);
  return one(call.reshape(part, std::move(shape)));
}

}  // namespace

Family structure_family() {
  static constexpr Row kRows[] = {
      row(kOnnxStack, "inputs...", read_stack),
      row(kOnnxJoin, "inputs...", read_join),
      row(kOnnxSelect, "input", read_select),
  };
  return family_of("onnx structure", kRows);
}

}  // namespace onnx_ops

std::optional<OnnxStructure> onnx_structure(std::string_view domain, std::string_view op_type) {
  if (!domain.empty()) return std::nullopt;
  const auto* const found = std::ranges::find(onnx_ops::kStructures, op_type, &onnx_ops::StructureName::name);
  if (found == onnx_ops::kStructures.end()) return std::nullopt;
  return found->structure;
}

}  // namespace isthmus
