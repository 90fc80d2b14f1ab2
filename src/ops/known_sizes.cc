// Integers that a model computes from the sizes of its inputs: the arithmetic of shapes that exporters write out.
#include "ops/known_sizes.h"

#include <algorithm>

#include "ops/known.h"

namespace isthmus {
namespace {

// Longer lists and longer ways of computing them are not shapes.
constexpr std::size_t kMaxSizes = 1024;
constexpr std::size_t kMaxNodes = 4096;

using Known = std::optional<Dims>;

class SizeReader {
 public:
  explicit SizeReader(Graph& graph) : graph_(graph) {}

  Known value(ValueId id) {
    const TensorType& type = graph_.type(id);
    if (!is_integer(type.dtype) && type.dtype != DType::kBool) return std::nullopt;
    const auto sizes = fixed_sizes(type.shape);
    if (!sizes || ++visited_ > kMaxNodes) return std::nullopt;
    std::int64_t count = 1;
    for (const std::int64_t size : *sizes) {
      if (size < 0 || size > static_cast<std::int64_t>(kMaxSizes)) return std::nullopt;
      count *= size;
      if (count > static_cast<std::int64_t>(kMaxSizes)) return std::nullopt;
    }
    if (graph_.constant(id) != nullptr) {
      const auto constant = known_integers(graph_, id);
      return constant ? Known(Dims(constant->begin(), constant->end())) : std::nullopt;
    }
    const Node* node = graph_.producer(id);
    if (node == nullptr || node->op == Op::kForeign) return std::nullopt;
    const Node copy = *node;  // the graph's own may move
    Known result = computed(copy, static_cast<std::size_t>(count));
    if (result && result->size() != static_cast<std::size_t>(count)) return std::nullopt;
    return result;
  }

 private:
  Known computed(const Node& node, std::size_t count) {
    switch (node.op) {
      case Op::kReshape:
        return value(node.inputs[0]);
      case Op::kCast:
        return std::get<DTypeAttrs>(node.attrs).dtype == DType::kBool ? std::nullopt : value(node.inputs[0]);
      case Op::kArange: {
        const auto& range = std::get<ArangeAttrs>(node.attrs);
        Dims result;
        for (std::size_t i = 0; i < count; ++i) {
          result.push_back(exprs().add(range.start, static_cast<std::int64_t>(i) * range.step));
        }
        return result;
      }
      case Op::kCat:
        return joined(node);
      case Op::kSlice:
        return sliced(node, count);
      case Op::kIndexSelect:
        return selected(node);
      case Op::kExpand: {
        const Known one = value(node.inputs[0]);
        if (!one || one->size() != 1) return one && one->size() == count ? one : std::nullopt;
        return Dims(count, one->front());
      }
      case Op::kFlip: {
        Known list = graph_.type(node.inputs[0]).rank() == 1 ? value(node.inputs[0]) : std::nullopt;
        if (list) std::ranges::reverse(*list);
        return list;
      }
      case Op::kProd: {
        const Known list = count == 1 ? value(node.inputs[0]) : std::nullopt;
        return list ? Known(Dims{exprs().product(*list)}) : std::nullopt;
      }
      case Op::kNeg: {
        Known list = value(node.inputs[0]);
        if (list) {
          for (Dim& size : *list) size = exprs().multiply(size, -1);
        }
        return list;
      }
      case Op::kWhere:
        return chosen(node, count);
      default:
        return node.inputs.size() == 2 ? of_two(node, count) : std::nullopt;
    }
  }

  Exprs& exprs() { return graph_.exprs(); }

  Known joined(const Node& node) {
    Dims result;
    for (const ValueId input : node.inputs) {
      if (graph_.type(input).rank() != 1) return std::nullopt;
      const Known part = value(input);
      if (!part) return std::nullopt;
      result.insert(result.end(), part->begin(), part->end());
    }
    return result;
  }

  Known sliced(const Node& node, std::size_t count) {
    const auto& slice = std::get<SliceAttrs>(node.attrs);
    if (graph_.type(node.inputs[0]).rank() != 1 || !slice.start.is_fixed()) return std::nullopt;
    const Known list = value(node.inputs[0]);
    if (!list) return std::nullopt;
    Dims result;
    for (std::size_t i = 0; i < count; ++i) {
      result.push_back(
          (*list)[static_cast<std::size_t>(slice.start.value()) + i * static_cast<std::size_t>(slice.step)]);
    }
    return result;
  }

  Known selected(const Node& node) {
    if (graph_.type(node.inputs[0]).rank() != 1) return std::nullopt;
    const Known list = value(node.inputs[0]);
    const Known places = value(node.inputs[1]);
    if (!list || !places) return std::nullopt;
    const auto size = static_cast<std::int64_t>(list->size());
    Dims result;
    for (const Dim place : *places) {
      if (!place.is_fixed() || place.value() < -size || place.value() >= size) return std::nullopt;
      result.push_back((*list)[static_cast<std::size_t>(place.value() < 0 ? place.value() + size : place.value())]);
    }
    return result;
  }

  // The i-th of a list that may be a single number for all.
  static Dim at(const Dims& list, std::size_t i) { return list.size() == 1 ? list.front() : list[i]; }

  Known chosen(const Node& node, std::size_t count) {
    const Known condition = value(node.inputs[0]);
    const Known yes = value(node.inputs[1]);
    const Known no = value(node.inputs[2]);
    if (!condition || !yes || !no) return std::nullopt;
    Dims result;
    for (std::size_t i = 0; i < count; ++i) {
      for (const Dims* list : {&*condition, &*yes, &*no}) {
        if (list->size() != 1 && list->size() != count) return std::nullopt;
      }
      const Dim boolean = at(*condition, i);
      if (!boolean.is_fixed()) return std::nullopt;
      result.push_back(boolean.value() != 0 ? at(*yes, i) : at(*no, i));
    }
    return result;
  }

  Known of_two(const Node& node, std::size_t count) {
    const Known a = value(node.inputs[0]);
    const Known b = a ? value(node.inputs[1]) : std::nullopt;
    if (!a || !b) return std::nullopt;
    if ((a->size() != 1 && a->size() != count) || (b->size() != 1 && b->size() != count)) return std::nullopt;
    Dims result;
    for (std::size_t i = 0; i < count; ++i) {
      const auto number = of_numbers(node.op, at(*a, i), at(*b, i));
      if (!number) return std::nullopt;
      result.push_back(*number);
    }
    return result;
  }

  bool is_never_negative(Dim dim) { return exprs().bounds(dim).min.value_or(-1) >= 0; }

  std::optional<Dim> of_numbers(Op op, Dim a, Dim b) {
    switch (op) {
      case Op::kAdd:
        return exprs().add(a, b);
      case Op::kSub:
        return exprs().subtract(a, b);
      case Op::kMul:
        return exprs().multiply(a, b);
      case Op::kTruncDiv:
      case Op::kFloorDiv: {
        if (!b.is_fixed() || b.value() <= 0) return std::nullopt;
        if (op == Op::kTruncDiv && !is_never_negative(a)) return std::nullopt;
        return exprs().floor_divide(a, b);
      }
      case Op::kRemainder:
        if (!b.is_fixed() || b.value() <= 0) return std::nullopt;
        return exprs().modulo(a, b);
      case Op::kMinimum:
        return exprs().min(a, b);
      case Op::kMaximum:
        return exprs().max(a, b);
      case Op::kEq:
      case Op::kNe: {
        const bool is_eq = op == Op::kEq;
        if (a == b) return Dim(is_eq ? 1 : 0);
        if (surely_differ(exprs(), a, b)) return Dim(is_eq ? 0 : 1);
        return std::nullopt;
      }
      case Op::kLt:
      case Op::kGe: {
        const bool is_lt = op == Op::kLt;
        if (surely_exceeds(exprs(), b, a)) return Dim(is_lt ? 1 : 0);
        if (a == b || surely_exceeds(exprs(), a, b)) return Dim(is_lt ? 0 : 1);
        return std::nullopt;
      }
      case Op::kGt:
        return of_numbers(Op::kLt, b, a);
      case Op::kLe:
        return of_numbers(Op::kGe, b, a);
      default:
        return std::nullopt;
    }
  }

  Graph& graph_;
  std::size_t visited_ = 0;
};

}  // namespace

std::optional<Dims> known_sizes(Graph& graph, ValueId value) { return SizeReader(graph).value(value); }

std::optional<std::vector<double>> known_numbers(Graph& graph, ValueId value) {
  if (const Constant* constant = graph.constant(value); constant != nullptr && constant->data) {
    const TensorView& view = *constant->data;
    if (view.element_count() > kMaxElements) return std::nullopt;
    if (auto numbers = numbers_of(&view)) return numbers;
  }
  const auto sizes = known_sizes(graph, value);
  const auto fixed = sizes ? fixed_sizes(*sizes) : std::nullopt;
  if (!fixed) return std::nullopt;
  return std::vector<double>(fixed->begin(), fixed->end());
}

}  // namespace isthmus
