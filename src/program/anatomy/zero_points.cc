// From the operands that are zero points, and along operators that keep them.
#include "program/anatomy/zero_points.h"

#include <algorithm>
#include <string_view>

namespace isthmus::anatomy {
namespace {

class ZeroPoints {
 public:
  explicit ZeroPoints(const tosa::Graph& graph) : graph_(graph), result_(graph.values.size()) {}

  std::vector<std::optional<std::int32_t>> run() {
    for (const tosa::Operator& op : graph_.operators) {
      named(op, 'r', op.outputs);
      if (keeps(op)) share(op.inputs[0], op.outputs[0]);
    }
    for (std::size_t i = graph_.operators.size(); i-- > 0;) {
      const tosa::Operator& op = graph_.operators[i];
      named(op, '0', op.inputs);
      if (op.inputs.size() > 1) named(op, '1', std::span(op.inputs).subspan(1));
      if (keeps(op)) share(op.outputs[0], op.inputs[0]);
    }
    // What is known of readers, and of what only moves it on.
    for (const tosa::Operator& op : graph_.operators) {
      if (keeps(op)) share(op.inputs[0], op.outputs[0]);
    }
    return std::move(result_);
  }

 private:
  bool is_of_bytes(tosa::ValueIndex value) const { return graph_.values[value].type == tosa::Type::kI8; }

  // The zero point of the first of `values`, where an operand has it.
  void named(const tosa::Operator& op, char letter, std::span<const tosa::ValueIndex> values) {
    const std::size_t at = tosa::inputs_of(op.op).find(letter);
    if (at == std::string_view::npos || values.empty() || !is_of_bytes(values[0]) || result_[values[0]]) return;
    const Blob& data = graph_.values[op.inputs[at]].data;
    if (data.size() == 0) return;
    const auto* fields = std::get_if<tosa::Rescale>(&op.fields);
    const bool is_unsigned = fields != nullptr && (letter == 'r' ? fields->output_unsigned : fields->input_unsigned);
    const auto byte = static_cast<std::int32_t>(data.bytes()[0]);
    result_[values[0]] = is_unsigned || byte < 128 ? byte : byte - 256;
  }

  // Elements mean afterwards what they did before.
  bool keeps(const tosa::Operator& op) const {
    return !op.inputs.empty() && !op.outputs.empty() && is_of_bytes(op.inputs[0]) && is_of_bytes(op.outputs[0]) &&
           tosa::inputs_of(op.op).find_first_of("0rf") == std::string_view::npos;
  }
  void share(tosa::ValueIndex from, tosa::ValueIndex to) {
    if (!result_[to]) result_[to] = result_[from];
  }

  const tosa::Graph& graph_;
  std::vector<std::optional<std::int32_t>> result_;
};

}  // namespace

std::vector<std::optional<std::int32_t>> tosa_zero_points(const tosa::Graph& graph) { return ZeroPoints(graph).run(); }

}  // namespace isthmus::anatomy
