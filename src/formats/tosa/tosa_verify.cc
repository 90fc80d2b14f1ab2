// What is known of each operator and type, and the rules that every graph must keep.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/check.h"
#include "base/untrusted_text.h"
#include "formats/tosa/tosa.h"

namespace isthmus::tosa {
namespace {

struct OpRow {
  std::string_view name;
  Fields fields;
  std::string_view inputs;
};
const OpRow kOps[] = {
#define TOSA_OP(enumerator, name, fields, inputs) {name, fields{}, inputs},
#include "formats/tosa/tosa_ops.def"
#undef TOSA_OP
};
constexpr Op kOpList[] = {
#define TOSA_OP(enumerator, ...) Op::enumerator,
#include "formats/tosa/tosa_ops.def"
#undef TOSA_OP
};

const OpRow& row_of(Op op) {
  const auto index = static_cast<std::size_t>(op);
  CHECK(index >= 1 && index <= std::size(kOps), "an unknown operator");
  return kOps[index - 1];
}

struct TypeRow {
  std::string_view name;
  std::uint32_t bits;
};
constexpr TypeRow kTypes[] = {{"unknown", 0}, {"bool", 8},   {"i4", 4},    {"i8", 8},   {"i16", 16},
                              {"i32", 32},    {"i48", 48},   {"f32", 32},  {"f16", 16}, {"bf16", 16},
                              {"shape", 64},  {"f8e4m3", 8}, {"f8e5m2", 8}};

class GraphVerifier {
 public:
  explicit GraphVerifier(const Graph& graph) : graph_(graph), defined_(graph.values.size(), false) {}

  Expected<void> run() {
    std::unordered_set<std::string_view> names;
    for (const Value& value : graph_.values) {
      TRY(within(check(value), [&] { return fmt::format("value {}", shown(value.name)); }));
      if (!names.insert(value.name).second) {
        return bad_input(fmt::format("two values have the name {}", shown(value.name)));
      }
    }
    for (const ValueIndex index : graph_.inputs) TRY(define_input(index));
    for (std::size_t i = 0; i < graph_.operators.size(); ++i) {
      TRY(within(check(graph_.operators[i]),
                 [&] { return fmt::format("operator {} ({})", i, name_of(graph_.operators[i].op)); }));
    }
    for (const ValueIndex index : graph_.outputs) {
      if (index >= graph_.values.size()) return bad_input(fmt::format("output {} is not a value", index));
      if (!defined_[index]) return bad_input(fmt::format("nothing computes the output {}", name(index)));
      if (graph_.values[index].type == Type::kShape)
        return bad_input(fmt::format("the output {} is a shape", name(index)));
    }
    return {};
  }

 private:
  std::string name(ValueIndex index) const { return shown(graph_.values[index].name); }

  static Expected<void> check(const Value& value) {
    if (value.type == Type::kUnknown) return bad_input("a value of no type");
    if (value.shape.size() > kMaxDimensions) return bad_input(fmt::format("{} dimensions", value.shape.size()));
    const std::int32_t min = value.type == Type::kShape ? 0 : 1;
    for (const std::int32_t size : value.shape) {
      if (size < min) return bad_input(fmt::format("a size of {}", size));
    }
    if (value.type == Type::kShape && value.shape.size() != 1) return bad_input("a shape needs one rank");
    const auto needed = byte_count(value.type, value.shape);
    if (!needed) return bad_input("its size overflows");
    if (value.data.size() != 0 && value.data.size() != *needed) {
      return bad_input(fmt::format("{} bytes of data, but its type and shape need {}", value.data.size(), *needed));
    }
    return {};
  }

  Expected<void> define_input(ValueIndex index) {
    if (index >= graph_.values.size()) return bad_input(fmt::format("input {} is not a value", index));
    if (defined_[index]) return bad_input(fmt::format("{} is an input twice", name(index)));
    if (graph_.values[index].type == Type::kShape)
      return bad_input(fmt::format("the input {} is a shape", name(index)));
    if (graph_.values[index].data.size() != 0) return bad_input(fmt::format("the input {} has data", name(index)));
    defined_[index] = true;
    return {};
  }

  Expected<void> check(const Operator& op) {
    const OpRow& row = row_of(op.op);
    if (std::holds_alternative<NotRead>(row.fields)) {
      return fail(ErrorKind::kUnsupported, "operators of this kind are not supported");
    }
    if (op.fields.index() != row.fields.index()) return bad_input("its attributes are those of another operator");
    TRY(check_inputs(op, row));
    if (op.outputs.size() != 1) return bad_input(fmt::format("{} outputs instead of 1", op.outputs.size()));
    const ValueIndex output = op.outputs[0];
    if (output >= graph_.values.size()) return bad_input("its output is not a value");
    if (defined_[output]) return bad_input(fmt::format("{} is already defined", name(output)));
    defined_[output] = true;
    const Value& value = graph_.values[output];
    const bool makes_shape = row.inputs == "S";
    const bool makes_constant = makes_shape || row.inputs.empty();
    if ((value.type == Type::kShape) != makes_shape) {
      return bad_input(fmt::format("its output {} is {}", name(output), makes_shape ? "not a shape" : "a shape"));
    }
    const bool has_data = value.data.size() != 0 || byte_count(value.type, value.shape) == 0;
    if (makes_constant && !has_data) return bad_input(fmt::format("its output {} has no data", name(output)));
    if (!makes_constant && has_data) return bad_input(fmt::format("its output {} has data", name(output)));
    return {};
  }
  Expected<void> check_inputs(const Operator& op, const OpRow& row) const {
    const std::string_view letters = row.inputs == "S" ? "" : row.inputs;
    const bool is_list = letters == "*";
    if (is_list ? op.inputs.empty() : op.inputs.size() != letters.size()) {
      return bad_input(fmt::format("{} inputs instead of {}", op.inputs.size(),
                                   is_list ? std::string("at least 1") : std::to_string(letters.size())));
    }
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] >= graph_.values.size()) return bad_input(fmt::format("its input {} is not a value", i));
      if (!defined_[op.inputs[i]]) return bad_input(fmt::format("{} is used before it is defined", name(op.inputs[i])));
      const bool wants_shape = !is_list && letters[i] == 's';
      if ((graph_.values[op.inputs[i]].type == Type::kShape) != wants_shape) {
        return bad_input(fmt::format("its input {} is {}", i, wants_shape ? "not a shape" : "a shape"));
      }
    }
    return {};
  }

  const Graph& graph_;
  std::vector<bool> defined_;
};

}  // namespace

std::string_view name_of(Op op) { return row_of(op).name; }
std::string_view inputs_of(Op op) { return row_of(op).inputs; }
Fields fields_of(Op op) { return row_of(op).fields; }
std::span<const Op> all_ops() { return kOpList; }
std::string_view name_of(Type type) { return kTypes[static_cast<std::size_t>(type)].name; }
std::uint32_t bits_of(Type type) { return kTypes[static_cast<std::size_t>(type)].bits; }

bool Value::operator==(const Value& other) const {
  return name == other.name && type == other.type && shape == other.shape && data.text() == other.data.text();
}

std::optional<std::uint64_t> byte_count(Type type, std::span<const std::int32_t> shape) {
  constexpr std::uint64_t kMaxBits = std::uint64_t{1} << 43;
  std::uint64_t bits = bits_of(type);
  for (const std::int32_t size : shape) {
    const auto product = size < 0 ? std::nullopt : multiply_sizes(bits, static_cast<std::uint64_t>(size));
    if (!product || *product > kMaxBits) return std::nullopt;
    bits = *product;
  }
  return (bits + 7) / 8;
}

Expected<void> verify(const Graph& graph) { return GraphVerifier(graph).run(); }

}  // namespace isthmus::tosa
