// Comparisons and choices as arithmetic on numbers that are 0 or 1.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/xnnpack/formula.h"
#include "backends/xnnpack/legalize.h"
#include "simplify/weights.h"

namespace isthmus::xnnpack {
namespace {

constexpr int kMostDepth = 16;

// A value of truth as numbers 0 and 1; nothing where it does not come from comparisons of floats.
std::optional<Term> as_number(Formula& formula, Graph& graph, Emitter& emitter, ValueId id, int depth = 0) {
  if (const Constant* constant = graph.constant(id)) {
    if (!constant->data || constant->data->dtype != DType::kBool) return std::nullopt;
    const Blob bytes = contiguous_bytes(*constant->data);
    std::vector<double> numbers;
    for (const std::byte byte : bytes.bytes()) numbers.push_back(byte != std::byte{} ? 1 : 0);
    return formula.of(constant_of(emitter, numbers, DType::kF32, constant->data->sizes));
  }
  const Node* producer = graph.producer(id);
  if (producer == nullptr || depth > kMostDepth) return std::nullopt;
  const Node node = *producer;  // a copy: emitting moves the nodes
  const auto truth = [&](std::size_t i) { return as_number(formula, graph, emitter, node.inputs[i], depth + 1); };
  const auto compares_floats = [&] {
    return graph.type(node.inputs[0]).dtype == DType::kF32 && graph.type(node.inputs[1]).dtype == DType::kF32;
  };
  const auto difference = [&](std::size_t a, std::size_t b) {
    return formula.of(node.inputs[a]) - formula.of(node.inputs[b]);
  };
  switch (node.op) {
    case Op::kGt:
      return compares_floats() ? std::optional(is_positive(difference(0, 1))) : std::nullopt;
    case Op::kLt:
      return compares_floats() ? std::optional(is_positive(difference(1, 0))) : std::nullopt;
    case Op::kGe:
      return compares_floats() ? std::optional(1.0 - is_positive(difference(1, 0))) : std::nullopt;
    case Op::kLe:
      return compares_floats() ? std::optional(1.0 - is_positive(difference(0, 1))) : std::nullopt;
    case Op::kEq:
      return compares_floats() ? std::optional(1.0 - is_positive(abs(difference(0, 1)))) : std::nullopt;
    case Op::kNe:
      return compares_floats() ? std::optional(is_positive(abs(difference(0, 1)))) : std::nullopt;
    case Op::kLogicalNot: {
      const auto x = truth(0);
      return x ? std::optional(1.0 - *x) : std::nullopt;
    }
    case Op::kLogicalAnd:
    case Op::kLogicalOr:
    case Op::kLogicalXor: {
      const auto a = truth(0);
      const auto b = a ? truth(1) : std::nullopt;
      if (!b) return std::nullopt;
      if (node.op == Op::kLogicalAnd) return *a * *b;
      if (node.op == Op::kLogicalOr) return maximum(*a, *b);
      return abs(*a - *b);
    }
    default:
      return std::nullopt;
  }
}

// x where the choice is 1, and 0 where it is 0, whatever x is there.
Term kept(Term x, Term choice) {
  const Term bound = choice * static_cast<double>(std::numeric_limits<float>::max());
  return minimum(maximum(x, -bound), bound);
}

// The sign of a constant that is infinite everywhere.
std::optional<double> infinite_sign(const TensorView* constant) {
  const auto numbers = numbers_of(constant);
  if (!numbers || numbers->empty() || !std::isinf(numbers->front())) return std::nullopt;
  if (std::ranges::any_of(*numbers, [&](double number) { return number != numbers->front(); })) return std::nullopt;
  return numbers->front() > 0 ? 1 : -1;
}
bool has_infinity(const TensorView* constant) {
  const auto numbers = numbers_of(constant);
  return numbers && std::ranges::any_of(*numbers, [](double number) { return !std::isfinite(number); });
}

// What one side of a choice adds to the result.
Term chosen(const Site& site, Formula& formula, std::size_t i, Term choice) {
  const auto sign = infinite_sign(site.constant(i));
  if (!sign) return kept(formula.of(site.inputs[i]), choice);
  const Term minus_infinity = log(1.0 - choice);
  return *sign < 0 ? minus_infinity : -minus_infinity;
}

}  // namespace

Replacement truth_to_float(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kCast || site.graph().type(site.inputs[0]).dtype != DType::kBool) {
    return unchanged();
  }
  Formula formula(site.emitter);
  const auto number = as_number(formula, site.graph(), site.emitter, site.inputs[0]);
  if (!number) return unchanged();
  return replaced_by(formula.result(*number));
}

Replacement where_by_parts(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kWhere || site.constant(0) != nullptr) return unchanged();
  // What is chosen would become the largest number where it is infinite.
  for (std::size_t i = 1; i < 3; ++i) {
    if (has_infinity(site.constant(i)) && !infinite_sign(site.constant(i))) return unchanged();
  }
  Formula formula(site.emitter);
  const auto choice = as_number(formula, site.graph(), site.emitter, site.inputs[0]);
  if (!choice) return unchanged();
  return replaced_by(formula.result(chosen(site, formula, 1, *choice) + chosen(site, formula, 2, 1.0 - *choice)));
}

}  // namespace isthmus::xnnpack
