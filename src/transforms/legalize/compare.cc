// Comparisons and choices as arithmetic on numbers that are 0 or 1.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "ops/known.h"
#include "ops/table.h"
#include "transforms/legalize/formula.h"
#include "transforms/legalize/rewrites.h"

namespace isthmus::rewrites {
namespace {

constexpr int kMaxDepth = 16;

// Bools as numbers 0 and 1, computed in floats as far as that goes. What stays a bool is converted.
class BoolNumbers {
 public:
  BoolNumbers(Formula& formula, const Site& site) : formula_(formula), graph_(site.graph()), emitter_(site.emitter) {}

  Term of(ValueId id) {
    if (const auto known = known_.find(id); known != known_.end()) return known->second;
    ++depth_;
    auto number = computed(id);
    --depth_;
    if (!number) number = formula_.emit(Op::kCast, DTypeAttrs{DType::kF32}, {id});
    known_.emplace(id, *number);
    return *number;
  }

  // Nothing where all that can be done is a conversion of the bool itself.
  std::optional<Term> computed(ValueId id) {
    if (const Constant* constant = graph_.constant(id)) return of_constant(*constant);
    const Node* producer = graph_.producer(id);
    if (producer == nullptr || depth_ > kMaxDepth) return std::nullopt;
    const Node node = *producer;  // a copy: emitting moves the nodes
    if (node.op == Op::kCast) return is_not_zero(node.inputs[0]);
    if (const auto compared = comparison(node)) return compared;
    if (const auto logic = logical(node)) return logic;
    return moved(node);
  }

 private:
  std::optional<Term> of_constant(const Constant& constant) {
    if (!constant.data || constant.data->dtype != DType::kBool) return std::nullopt;
    const Blob bytes = contiguous_bytes(*constant.data);
    std::vector<double> numbers;
    for (const std::byte byte : bytes.bytes()) numbers.push_back(byte != std::byte{} ? 1 : 0);
    return formula_.of(emitter_.floats(numbers, DType::kF32, constant.data->sizes));
  }

  std::optional<Term> is_not_zero(ValueId id) {
    const DType from = graph_.type(id).dtype;
    if (from == DType::kF32) return is_positive(abs(formula_.of(id)));
    if (!is_integer(from)) return std::nullopt;
    return is_positive(abs(formula_.emit(Op::kCast, DTypeAttrs{DType::kF32}, {id})));
  }

  std::optional<Term> comparison(const Node& node) {
    if (node.inputs.size() != 2) return std::nullopt;
    if (graph_.type(node.inputs[0]).dtype != DType::kF32 || graph_.type(node.inputs[1]).dtype != DType::kF32) {
      return std::nullopt;
    }
    const auto difference = [&](std::size_t a, std::size_t b) {
      return formula_.of(node.inputs[a]) - formula_.of(node.inputs[b]);
    };
    switch (node.op) {
      case Op::kGt:
        return is_positive(difference(0, 1));
      case Op::kLt:
        return is_positive(difference(1, 0));
      case Op::kGe:
        return 1.0 - is_positive(difference(1, 0));
      case Op::kLe:
        return 1.0 - is_positive(difference(0, 1));
      case Op::kEq:
        return 1.0 - is_positive(abs(difference(0, 1)));
      case Op::kNe:
        return is_positive(abs(difference(0, 1)));
      default:
        return std::nullopt;
    }
  }

  std::optional<Term> logical(const Node& node) {
    switch (node.op) {
      case Op::kLogicalNot:
        return 1.0 - of(node.inputs[0]);
      case Op::kLogicalAnd:
        return of(node.inputs[0]) * of(node.inputs[1]);
      case Op::kLogicalOr:
        return maximum(of(node.inputs[0]), of(node.inputs[1]));
      case Op::kLogicalXor:
        return abs(of(node.inputs[0]) - of(node.inputs[1]));
      default:
        return std::nullopt;
    }
  }

  // The same movement of the numbers.
  std::optional<Term> moved(const Node& node) {
    if (node.op == Op::kForeign || def(node.op).flow != QFlow::kMovesData) return std::nullopt;
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = of(inputs[0]).id;
    return formula_.emit(node.op, node.attrs, std::move(inputs));
  }

  Formula& formula_;
  Graph& graph_;
  Emitter& emitter_;
  std::map<ValueId, Term> known_;
  int depth_ = 0;
};

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

// What one side of a choice adds to the result; nothing where that is zero.
std::optional<Term> chosen(const Site& site, Formula& formula, std::size_t i, Term choice) {
  const TensorView* constant = site.constant(i);
  if (const auto sign = infinite_sign(constant)) {
    const Term minus_infinity = log(1.0 - choice);
    return *sign < 0 ? minus_infinity : -minus_infinity;
  }
  const auto numbers = numbers_of(constant);
  const Node* maker = site.producer(i);
  const bool is_finite = maker != nullptr && maker->op != Op::kForeign && def(maker->op).range.has_value();
  if (is_finite) return formula.of(site.inputs[i]) * choice;
  if (!numbers) return kept(formula.of(site.inputs[i]), choice);
  if (std::ranges::all_of(*numbers, [](double number) { return number == 0; })) return std::nullopt;
  return formula.of(site.inputs[i]) * choice;
}

}  // namespace

Replacement bool_to_float(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kCast || site.graph().type(site.inputs[0]).dtype != DType::kBool) {
    return unchanged();
  }
  Formula formula(site.emitter);
  const auto number = BoolNumbers(formula, site).computed(site.inputs[0]);
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
  const Term choice = BoolNumbers(formula, site).of(site.inputs[0]);
  const auto first = chosen(site, formula, 1, choice);
  const auto second = chosen(site, formula, 2, 1.0 - choice);
  if (!first && !second) return unchanged();
  const Term sum = !first ? *second : !second ? *first : *first + *second;
  return replaced_by(site.emitter.expand(TRY(formula.result(sum)), site.result().shape));
}

}  // namespace isthmus::rewrites
