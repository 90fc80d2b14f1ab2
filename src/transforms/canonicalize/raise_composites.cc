// What exporters have taken apart becomes one op again: a composite has one canonical form, whatever wrote the model,
// and targets choose how to compute it.
#include <algorithm>
#include <cmath>

#include "ops/known.h"
#include "ops/table.h"
#include "transforms/canonicalize/rewrites.h"

namespace isthmus {
namespace {

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); }

// The only element of a constant.
std::optional<double> number_of(const Graph& graph, ValueId value) {
  const Constant* constant = graph.constant(value);
  if (constant == nullptr || !constant->data || constant->data->element_count() != 1) return std::nullopt;
  const auto numbers = numbers_of(&*constant->data);
  return numbers ? std::optional(numbers->front()) : std::nullopt;
}

const Node* made_by(const Graph& graph, ValueId value, Op op) {
  const Node* node = graph.producer(value);
  return node != nullptr && node->op == op ? node : nullptr;
}

// A value times a number.
struct Scaled {
  ValueId value;
  double factor = 1;
};
Scaled scaled(const Graph& graph, ValueId value) {
  Scaled result{value};
  for (int depth = 0; depth < 4; ++depth) {
    const Node* node = graph.producer(result.value);
    if (node == nullptr || (node->op != Op::kMul && node->op != Op::kDiv)) break;
    const auto right = number_of(graph, node->inputs[1]);
    const auto left = node->op == Op::kMul ? number_of(graph, node->inputs[0]) : std::nullopt;
    if (!right && !left) break;
    const ValueId inner = node->inputs[right ? 0 : 1];
    // A constant with more axes than the value would give it another shape.
    if (graph.type(inner).shape != graph.type(result.value).shape) break;
    result.factor = node->op == Op::kDiv ? result.factor / *right : result.factor * (right ? *right : *left);
    result.value = inner;
  }
  return result;
}

// The operand beside a number.
std::optional<ValueId> beside(const Graph& graph, const Node& node, double number) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const auto found = number_of(graph, node.inputs[i]);
    if (found && is_near(*found, number)) return node.inputs[1 - i];
  }
  return std::nullopt;
}

// Factors of a product that are not numbers, and the product of those that are.
struct Product {
  std::vector<ValueId> factors;
  double number = 1;
};
void collect(const Graph& graph, ValueId value, Product& product, int depth) {
  const Node* node = depth > 0 ? made_by(graph, value, Op::kMul) : nullptr;
  if (const auto number = number_of(graph, value)) {
    product.number *= *number;
  } else if (node == nullptr) {
    product.factors.push_back(value);
  } else {
    const std::vector<ValueId> inputs = node->inputs;
    for (const ValueId input : inputs) collect(graph, input, product, depth - 1);
  }
}

// 1 + erf(x / sqrt(2)): of which x, if it is that.
std::optional<ValueId> gelu_argument(const Graph& graph, ValueId value) {
  const Node* sum = made_by(graph, value, Op::kAdd);
  const auto erf = sum == nullptr ? std::nullopt : beside(graph, *sum, 1);
  const Node* function = erf ? made_by(graph, *erf, Op::kErf) : nullptr;
  if (function == nullptr) return std::nullopt;
  const Scaled argument = scaled(graph, function->inputs[0]);
  return is_near(argument.factor, std::sqrt(0.5)) ? std::optional(argument.value) : std::nullopt;
}

bool is_last_axes(const Ints& axes, std::size_t rank) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<std::int64_t>(rank - axes.size() + i)) return false;
  }
  return !axes.empty();
}

// The mean over the last axes, which stay as axes of size 1: of what, and how many.
struct MeanOf {
  ValueId value;
  std::size_t axes = 0;
};
std::optional<MeanOf> mean_of(const Graph& graph, ValueId value) {
  const Node* mean = made_by(graph, value, Op::kMean);
  if (mean == nullptr) return std::nullopt;
  const auto& attrs = std::get<ReduceAttrs>(mean->attrs);
  if (!attrs.keepdim || !is_last_axes(attrs.axes, graph.type(mean->inputs[0]).rank())) return std::nullopt;
  return MeanOf{mean->inputs[0], attrs.axes.size()};
}

std::optional<ValueId> square_of(const Graph& graph, ValueId value) {
  const Node* node = graph.producer(value);
  if (node == nullptr) return std::nullopt;
  if (node->op == Op::kMul && node->inputs[0] == node->inputs[1]) return node->inputs[0];
  if (node->op != Op::kPow) return std::nullopt;
  const auto exponent = number_of(graph, node->inputs[1]);
  return exponent && *exponent == 2 ? std::optional(node->inputs[0]) : std::nullopt;
}

// A parameter of a layer norm: a constant of exactly the sizes that are normalized.
bool is_parameter(const Graph& graph, ValueId value, const Shape& shape, std::int64_t axes) {
  const Shape normalized(shape.end() - axes, shape.end());
  return graph.constant(value) != nullptr && graph.type(value).shape == normalized;
}

// The last two axes change places.
Expected<ValueId> transposed(Emitter& emitter, ValueId value) {
  Ints axes(static_cast<std::size_t>(emitter.rank(value)));
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return emitter.permute(value, std::move(axes));
}

}  // namespace

// x * 0.5 * (1 + erf(x / sqrt(2))), in any order
Replacement raise_gelu(const Site& site) {
  if (site.node.op != Op::kMul || !is_floating(site.result().dtype)) return unchanged();
  const Graph& graph = site.graph();
  Product product;
  for (const ValueId input : site.inputs) collect(graph, input, product, 2);
  if (product.factors.size() != 2 || !is_near(product.number, 0.5)) return unchanged();
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const ValueId x = product.factors[1 - i];
    if (gelu_argument(graph, product.factors[i]) != x || graph.type(x) != site.result()) continue;
    return replaced_by(site.emitter.emit(Op::kGelu, GeluAttrs{false}, {x}));
  }
  return unchanged();
}

// x * sigmoid(x)
Replacement raise_silu(const Site& site) {
  if (site.node.op != Op::kMul || !is_floating(site.result().dtype)) return unchanged();
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const Node* sigmoid = made_by(site.graph(), site.inputs[i], Op::kSigmoid);
    if (sigmoid == nullptr || sigmoid->inputs[0] != site.inputs[1 - i]) continue;
    return replaced_by(site.emitter.emit(Op::kSilu, NoAttrs{}, {site.inputs[1 - i]}));
  }
  return unchanged();
}

// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps)
Replacement raise_layer_norm(const Site& site) {
  if (site.node.op != Op::kDiv || !is_floating(site.result().dtype)) return unchanged();
  const Graph& graph = site.graph();
  const Node* centred = made_by(graph, site.inputs[0], Op::kSub);
  const Node* root = made_by(graph, site.inputs[1], Op::kSqrt);
  const Node* sum = root == nullptr ? nullptr : made_by(graph, root->inputs[0], Op::kAdd);
  if (centred == nullptr || sum == nullptr) return unchanged();
  const auto mean = mean_of(graph, centred->inputs[1]);
  if (!mean || mean->value != centred->inputs[0]) return unchanged();
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const auto eps = number_of(graph, sum->inputs[i]);
    const auto variance = mean_of(graph, sum->inputs[1 - i]);
    if (!eps || !variance || variance->axes != mean->axes || !(*eps >= 0)) continue;
    if (square_of(graph, variance->value) != site.inputs[0]) continue;
    const LayerNormAttrs attrs{static_cast<std::int64_t>(mean->axes), *eps};
    return replaced_by(site.emitter.emit(Op::kLayerNorm, attrs, {mean->value}));
  }
  return unchanged();
}

// layer_norm(x) * weight, and + bias behind it
Replacement fold_into_layer_norm(const Site& site) {
  const bool is_weight = site.node.op == Op::kMul;
  if (!is_weight && site.node.op != Op::kAdd) return unchanged();
  const Graph& graph = site.graph();
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const Node* found = made_by(graph, site.inputs[i], Op::kLayerNorm);
    if (found == nullptr || !site.is_only_reader(i) || found->inputs.size() != (is_weight ? 1 : 2)) continue;
    const Node norm = *found;
    const auto& attrs = std::get<LayerNormAttrs>(norm.attrs);
    const Shape shape = graph.type(site.inputs[i]).shape;
    if (!is_parameter(graph, site.inputs[1 - i], shape, attrs.axes) || site.result().shape != shape) continue;
    std::vector<ValueId> inputs = norm.inputs;
    inputs.push_back(site.inputs[1 - i]);
    return replaced_by(site.emitter.emit(Op::kLayerNorm, attrs, std::move(inputs)));
  }
  return unchanged();
}

// softmax(q k^T * scale + mask) v, the scale in any of the factors
Replacement raise_attention(const Site& site) {
  if (site.node.op != Op::kMatmul || site.result().dtype != DType::kF32) return unchanged();
  const Graph& graph = site.graph();
  const Node* softmax = made_by(graph, site.inputs[0], Op::kSoftmax);
  if (softmax == nullptr || !site.is_only_reader(0)) return unchanged();
  const std::size_t rank = site.result().rank();
  if (rank < 3 || std::get<AxisAttrs>(softmax->attrs).axis != static_cast<std::int64_t>(rank) - 1) return unchanged();
  ValueId scores = softmax->inputs[0];
  std::optional<ValueId> mask;
  const auto is_scores = [&](ValueId value) {
    return made_by(graph, scaled(graph, value).value, Op::kMatmul) != nullptr;
  };
  if (const Node* sum = made_by(graph, scores, Op::kAdd)) {
    const std::size_t product = is_scores(sum->inputs[0]) ? 0 : 1;
    if (!is_scores(sum->inputs[product]) || graph.type(sum->inputs[product]).shape != graph.type(scores).shape) {
      return unchanged();
    }
    mask = sum->inputs[1 - product];
    scores = sum->inputs[product];
  }
  const Scaled outside = scaled(graph, scores);
  const Node* matmul = made_by(graph, outside.value, Op::kMatmul);
  if (matmul == nullptr) return unchanged();
  const Scaled query = scaled(graph, matmul->inputs[0]);
  const Scaled key = scaled(graph, matmul->inputs[1]);
  const Shape& shape = graph.type(query.value).shape;
  if (shape.size() != rank || graph.type(key.value).rank() != rank || graph.type(site.inputs[1]).rank() != rank ||
      !shape.back().is_fixed() || shape.back().value() < 1 || graph.constant(key.value) != nullptr) {
    return unchanged();
  }
  // All heads as the query has them: what broadcasts stays as it is.
  const auto has_same_heads = [&](ValueId value) {
    const Shape& own = graph.type(value).shape;
    return std::equal(own.begin(), own.end() - 2, shape.begin());
  };
  if (!has_same_heads(key.value) || !has_same_heads(site.inputs[1])) return unchanged();
  double scale = outside.factor * query.factor * key.factor;
  if (!(scale > 0) || !std::isfinite(scale)) return unchanged();
  if (is_near(scale, 1 / std::sqrt(static_cast<double>(shape.back().value())))) scale = 0;
  const ValueId from = query.value;
  const ValueId rows = TRY(transposed(site.emitter, key.value));
  std::vector<ValueId> inputs{from, rows, site.inputs[1]};
  if (mask) inputs.push_back(*mask);
  auto attention = site.emitter.emit(Op::kAttention, AttentionAttrs{scale, false}, std::move(inputs));
  if (!attention) return unchanged();  // a mask of another form
  return std::optional(*attention);
}

}  // namespace isthmus
