// Sweeps over the nodes until nothing changes. Each looks at the scales as the last one has left them, so that the
// order of nodes does not matter.
#include "quantize/plan/ratios.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "interpret/tensor.h"
#include "ops/table.h"
#include "quantize/apply/weights.h"
#include "quantize/plan/structure.h"

namespace isthmus {
namespace {

// A hair inside of a limit, so that rounding to f32 does not lead out again.
constexpr double kHair = 1 + 0x1p-20;

void widen(Group& group, double scale) {
  if (scale <= static_cast<double>(group.quant.scale())) return;
  group.quant.scales[0] = static_cast<float>(scale);
  const double min = group.storage == DType::kI16 ? -32768 : -128;
  group.range = {scale * (min - group.quant.zero_point), scale * (-1 - min - group.quant.zero_point)};
}

double slope_of(const Node& node) {
  const auto* attrs = std::get_if<SlopeAttrs>(&node.attrs);
  return attrs == nullptr ? 1 : std::abs(attrs->slope);
}

// Several at a time: one after the other would each wait for the one before.
double largest_magnitude(std::span<const float> numbers) {
  constexpr std::size_t kLanes = 16;
  std::array<float, kLanes> largest{};
  std::size_t at = 0;
  for (; at + kLanes <= numbers.size(); at += kLanes) {
    for (std::size_t i = 0; i < kLanes; ++i) largest[i] = std::max(largest[i], std::abs(numbers[at + i]));
  }
  for (; at < numbers.size(); ++at) largest[0] = std::max(largest[0], std::abs(numbers[at]));
  return static_cast<double>(std::ranges::max(largest));
}

// The largest scale that a channel of the node's weights may have, which uses half of its quantized values at least; 0
// without weights.
double weight_scale(const Graph& graph, const Node& node) {
  double largest = 0;
  const auto& roles = def(node.op).roles;
  for (std::size_t i = 0; i < std::min(node.inputs.size(), roles.size()); ++i) {
    const Constant* constant = graph.constant(node.inputs[i]);
    if (roles[i] != Role::kWeight || constant == nullptr || !constant->data) continue;
    const Tensor weights = Tensor::from(*constant->data);
    largest = std::max(largest, largest_magnitude(weights.data<float>()));
  }
  return largest / 63.5;
}

// How far the products of one sum can go, of an input whose scale is 1; 0 without weights. Weights are rounded by half
// a step at most, and a step is at most this part of the largest of them.
double reach_of(const Graph& graph, const Node& node) {
  const Constant* weights = node.inputs.size() > 1 ? graph.constant(node.inputs[1]) : nullptr;
  if (weights == nullptr || !weights->data) return 0;
  const Magnitudes magnitudes = magnitudes_of(node, *weights->data);
  const double largest = magnitudes.sums.empty() ? 0 : std::ranges::max(magnitudes.sums);
  return kMaxInputDifference * (largest + magnitudes.count * weight_scale(graph, node) / 2);
}

class Sweep {
 public:
  Sweep(const Graph& graph, QuantPlan& plan, const std::vector<double>& weight_scales,
        const std::vector<std::uint64_t>& structure)
      : graph_(graph), plan_(plan), weight_scales_(weight_scales), structure_(structure) {}

  // A quarter of what the device has: a bias that the result can show goes as far as the products, and the rest is for
  // what the bias is corrected by.
  void visit(NodeId id, const SumLimit& limit, double reach) {
    Scale result{&plan_.groups[*plan_.group_of[graph_[id].outputs[0].index]], nullptr, 0, {}};
    const double min = scale_of({id, 0}).value() * reach / (limit.max_scaled / 4);
    if (result.value() < min) raise(result, min * kHair);
  }

  // Whether there was anything to raise.
  bool raise_all() {
    for (const auto& [scale, wanted] : raises_) {
      if (scale.group != nullptr) {
        widen(*scale.group, wanted);
      } else {
        scale.constant->scales[0] = std::max(scale.constant->scale(), static_cast<float>(wanted));
      }
    }
    return !raises_.empty();
  }

  void visit(NodeId id, const RatioLimit& limit) {
    const Node& node = graph_[id];
    Scale result{&plan_.groups[*plan_.group_of[node.outputs[0].index]], nullptr, 0, {}};
    std::vector<Scale> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_data_input(node.op, i)) inputs.push_back(scale_of({id, i}));
    }
    if (limit.of == RatioOf::kProduct) {
      product(result, inputs, weight_scales_[id.index], limit);
    } else {
      const double slope = limit.of == RatioOf::kSlopedInput ? slope_of(node) : 1;
      for (Scale& input : inputs) each_input(result, input, slope, limit);
    }
  }

 private:
  // Of a group, or of a constant that only this node reads so.
  struct Scale {
    Group* group = nullptr;
    Quant* constant = nullptr;
    std::uint64_t structure = 0;
    std::string_view name;  // of the value
    std::tuple<double, std::uint64_t, std::string_view> rank() const { return {value(), structure, name}; }
    double value() const { return static_cast<double>(group != nullptr ? group->quant.scale() : constant->scale()); }
  };

  Scale scale_of(Tie edge) {
    const Node& node = graph_[edge.node];
    const ValueId value = node.inputs[edge.input];
    for (auto* own : {&plan_.constants, &plan_.narrowed}) {
      if (const auto found = own->find(edge); found != own->end()) {
        return {nullptr, &found->second.quant, structure_[value.index], graph_[value].name};
      }
    }
    // A tied constant has the parameters of the result.
    const ValueId holder = graph_.constant(value) != nullptr ? node.outputs[0] : value;
    return {&plan_.groups[*plan_.group_of[holder.index]], nullptr, structure_[value.index], graph_[value].name};
  }

  static bool is_above(double ratio, const RatioLimit& limit) {
    return ratio > limit.max || (ratio == limit.max && !limit.includes_max);
  }

  void each_input(Scale& result, Scale& input, double slope, const RatioLimit& limit) {
    if (slope == 0) return;
    const double ratio = slope * input.value() / result.value();
    if (is_above(ratio, limit)) {
      raise(result, slope * input.value() / limit.max * kHair);
    } else if (ratio < limit.min) {
      raise(input, limit.min * result.value() / slope * kHair);
    }
  }

  void product(Scale& result, std::vector<Scale>& inputs, double weights, const RatioLimit& limit) {
    double scales = weights > 0 ? weights : 1;
    for (const Scale& input : inputs) scales *= input.value();
    const double ratio = scales / result.value();
    if (is_above(ratio, limit)) {
      raise(result, scales / limit.max * kHair);
    } else if (ratio < limit.min && !inputs.empty()) {
      Scale& finest = *std::ranges::min_element(inputs, {}, [](const Scale& input) { return input.rank(); });
      raise(finest, finest.value() * limit.min / ratio * kHair);
    }
  }

  void raise(const Scale& scale, double wanted) { raises_.emplace_back(scale, wanted); }

  const Graph& graph_;
  QuantPlan& plan_;
  const std::vector<double>& weight_scales_;
  const std::vector<std::uint64_t>& structure_;
  std::vector<std::pair<Scale, double>> raises_;
};

}  // namespace

std::vector<const RatioLimit*> limits_of(const IntegerRules& rules, Op op) {
  std::vector<const RatioLimit*> result;
  for (const RatioLimit& limit : rules.ratios) {
    if (limit.op == op) result.push_back(&limit);
  }
  return result;
}

Expected<void> keep_ratios(const Graph& graph, const TargetDesc& target, QuantPlan& plan) {
  constexpr int kMaxSweeps = 64;
  std::vector<double> weight_scales(graph.nodes().size(), 0);
  std::vector<std::pair<NodeId, const RatioLimit*>> demands;
  for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
    if (plan.precision[n] != Precision::kQuantized) continue;
    for (const RatioLimit* limit : limits_of(target.integers, graph.nodes()[n].op)) {
      demands.emplace_back(NodeId{n}, limit);
      if (limit->of == RatioOf::kProduct) weight_scales[n] = weight_scale(graph, graph.nodes()[n]);
    }
  }
  std::vector<std::tuple<NodeId, const SumLimit*, double>> sums;
  for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    const SumLimit* limit =
        plan.precision[n] == Precision::kQuantized ? sum_limit_of(target.integers, node.op) : nullptr;
    if (limit != nullptr) sums.emplace_back(NodeId{n}, limit, reach_of(graph, node));
  }
  if (demands.empty() && sums.empty()) return {};
  const std::vector<std::uint64_t> structure = structure_of(graph);
  for (int i = 0; i < kMaxSweeps; ++i) {
    Sweep sweep(graph, plan, weight_scales, structure);
    for (const auto& [node, limit] : demands) sweep.visit(node, *limit);
    for (const auto& [node, limit, reach] : sums) sweep.visit(node, *limit, reach);
    if (!sweep.raise_all()) return {};
  }
  return bad_input("the target cannot represent the ratios of this model's scales");
}

}  // namespace isthmus
