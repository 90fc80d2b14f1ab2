// Walks the graph as Vela would compile it: what becomes part of a neighbour costs nothing.
#include "targets/ethos_u/cost.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>

namespace isthmus::ethos_u {
namespace {

using tosa::Type;
using tosa::ValueIndex;

constexpr std::uint32_t kNone = ~std::uint32_t{0};

double ceiling(double a, double b) { return std::ceil(a / b); }

constexpr double kWeightCycles = 4;  // of a channel's weights that are read at once

class Walk {
 public:
  Walk(const tosa::Graph& graph, const Machine& machine)
      : graph_(graph),
        machine_(machine),
        maker_(graph.values.size(), kNone),
        readers_(graph.values.size()),
        is_part_(graph.operators.size(), false) {
    for (std::uint32_t i = 0; i < graph.operators.size(); ++i) {
      for (const ValueIndex output : graph.operators[i].outputs) maker_[output] = i;
      for (const ValueIndex input : graph.operators[i].inputs) readers_[input].push_back(i);
    }
    for (const ValueIndex output : graph.outputs) readers_[output].push_back(kNone);
  }

  GraphCost run() {
    GraphCost cost;
    cost.by_operator.assign(graph_.operators.size(), 0.0);
    mark_input_rescales();
    for (std::uint32_t i = 0; i < graph_.operators.size(); ++i) {
      const tosa::Operator& op = graph_.operators[i];
      if (is_free(op.op) || is_part_[i]) continue;
      Step step{i, {}, joined_output(i)};
      for (const ValueIndex input : op.inputs) {
        if (graph_.values[input].type != Type::kShape) step.inputs.push_back(source_of(input));
      }
      cost.by_operator[i] = cycles_of(op, step);
      cost.cycles += cost.by_operator[i];
      steps_.push_back(std::move(step));
    }
    cost.bytes_by_operator = bytes_in_use();
    cost.sram_bytes = cost.bytes_by_operator.empty() ? 0 : std::ranges::max(cost.bytes_by_operator);
    return cost;
  }

 private:
  struct Step {
    std::uint32_t op;
    std::vector<ValueIndex> inputs;
    ValueIndex output;
  };

  static bool is_free(tosa::Op op) {
    return op == tosa::Op::kConst || op == tosa::Op::kConstShape || op == tosa::Op::kReshape ||
           op == tosa::Op::kIdentity;
  }
  static bool multiplies(tosa::Op op) {
    return op == tosa::Op::kConv2d || op == tosa::Op::kDepthwiseConv2d || op == tosa::Op::kTransposeConv2d ||
           op == tosa::Op::kConv3d || op == tosa::Op::kMatMul;
  }

  double bits(ValueIndex v) const { return std::max<double>(tosa::bits_of(graph_.values[v].type), 8); }
  double count(ValueIndex v) const {
    const auto& shape = graph_.values[v].shape;
    return std::accumulate(shape.begin(), shape.end(), 1.0, std::multiplies<>());
  }
  double bytes(ValueIndex v) const { return count(v) * bits(v) / 8; }
  bool is_constant(ValueIndex v) const {
    return maker_[v] == kNone ? !is_input(v) : graph_.operators[maker_[v]].op == tosa::Op::kConst;
  }
  bool is_input(ValueIndex v) const { return std::ranges::find(graph_.inputs, v) != graph_.inputs.end(); }

  // The value that is read in place of this one: reshaped, or before a RESCALE that the reader does.
  ValueIndex source_of(ValueIndex v) const {
    while (maker_[v] != kNone) {
      const tosa::Operator& op = graph_.operators[maker_[v]];
      const bool is_view = op.op == tosa::Op::kReshape || op.op == tosa::Op::kIdentity;
      if (!is_view && !(op.op == tosa::Op::kRescale && reads_through(maker_[v]))) break;
      v = op.inputs[0];
    }
    return v;
  }
  bool reads_through(std::uint32_t rescale) const { return is_part_[rescale] && is_of_reader_[rescale]; }

  // RESCALEs of operands to 32 bits, which the operator that reads them does: of one type on both sides.
  void mark_input_rescales() {
    is_of_reader_.assign(graph_.operators.size(), false);
    for (const tosa::Operator& op : graph_.operators) {
      if (!tosa::is_elementwise(op.op) && op.op != tosa::Op::kReduceSum) continue;
      std::optional<Type> type;
      std::vector<std::uint32_t> rescales;
      bool is_one_type = true;
      for (const ValueIndex input : op.inputs) {
        if (count(input) == 1 && is_constant(input)) continue;
        const std::uint32_t maker = maker_[input];
        const bool is_rescale = maker != kNone && graph_.operators[maker].op == tosa::Op::kRescale &&
                                readers_[input].size() == 1 && bits(graph_.operators[maker].inputs[0]) <= 16;
        const Type read =
            is_rescale ? graph_.values[graph_.operators[maker].inputs[0]].type : graph_.values[input].type;
        is_one_type = is_one_type && (!type || *type == read);
        type = read;
        if (is_rescale) rescales.push_back(maker);
      }
      if (!is_one_type || (op.op == tosa::Op::kReduceSum && rescales.empty())) continue;
      for (const std::uint32_t rescale : rescales) is_part_[rescale] = is_of_reader_[rescale] = true;
    }
  }

  // Behind what the operator computes: RESCALE, CLAMP and tables of 8 bits that alone read its result.
  ValueIndex joined_output(std::uint32_t i) {
    ValueIndex out = graph_.operators[i].outputs[0];
    const tosa::Op op = graph_.operators[i].op;
    const bool takes_tables = multiplies(op) || tosa::is_elementwise(op);
    if (!takes_tables && op != tosa::Op::kReduceSum && op != tosa::Op::kTable && op != tosa::Op::kAvgPool2d &&
        op != tosa::Op::kRescale)
      return out;
    while (readers_[out].size() == 1 && readers_[out][0] != kNone) {
      const std::uint32_t next = readers_[out][0];
      const tosa::Operator& reader = graph_.operators[next];
      const bool rescales =
          reader.op == tosa::Op::kRescale && !is_part_[next] && op != tosa::Op::kAvgPool2d && op != tosa::Op::kRescale;
      const bool looks_up = reader.op == tosa::Op::kTable && bits(out) == 8 && takes_tables;
      if (!rescales && !looks_up && reader.op != tosa::Op::kClamp) break;
      is_part_[next] = true;
      out = reader.outputs[0];
    }
    return out;
  }

  double at(CostKind kind, double units) const {
    const Rate& rate = machine_.rates[static_cast<std::size_t>(kind)];
    return rate.fixed + rate.each * machine_.elementwise * units;
  }

  // Vela makes an operator of its own for each position of a window that takes steps of more than 3.
  double positions(const tosa::Operator& op) const {
    constexpr std::int32_t kMaxStride = 3;
    const auto* conv = std::get_if<tosa::Conv>(&op.fields);
    if (op.op != tosa::Op::kConv2d || conv == nullptr) return 1;
    const auto is_zero = [](std::int32_t pad) { return pad == 0; };
    if (std::ranges::max(conv->stride) <= kMaxStride || !std::ranges::all_of(conv->pad, is_zero)) return 1;
    const auto& out = graph_.values[op.outputs[0]].shape;
    return static_cast<double>(out[0]) * out[1] * out[2];
  }

  double cycles_of(const tosa::Operator& op, const Step& step) const {
    if (multiplies(op.op)) return products(op, step);
    const double wide = step.inputs.empty() ? 8 : bits(step.inputs[0]);
    const double made = count(step.output);
    if (tosa::is_elementwise(op.op)) {
      if (wide > 16) return at(CostKind::kWide, made);
      if (op.op == tosa::Op::kMul) return at(bits(step.output) > 16 ? CostKind::kWideMul : CostKind::kMul, made);
      return at(op.op == tosa::Op::kAdd || op.op == tosa::Op::kSub ? CostKind::kAdd : CostKind::kSimple, made);
    }
    switch (op.op) {
      case tosa::Op::kTable:
        return wide > 8 ? at(CostKind::kTable, made) : at(CostKind::kSimple, made);
      case tosa::Op::kReduceSum:
        return at(CostKind::kSum, count(step.inputs[0]));
      case tosa::Op::kReduceMax:
      case tosa::Op::kReduceMin:
        return at(CostKind::kExtreme, bytes(step.inputs[0]));
      case tosa::Op::kTranspose:
        return turned(op, step);
      case tosa::Op::kAvgPool2d:
      case tosa::Op::kMaxPool2d:
        return pooled(op, step);
      case tosa::Op::kRescale:
      case tosa::Op::kCast:
      case tosa::Op::kClamp:
      case tosa::Op::kNegate:
        return std::max(at(CostKind::kRescale, made), by_channel(step.output));
      default:
        return at(CostKind::kCopy, bytes(step.output));
    }
  }

  // Groups of axes that stay side by side are one axis; one of size one is none. Vela makes several steps of a
  // transpose of more than three.
  double turned(const tosa::Operator& op, const Step& step) const {
    const auto& from = graph_.values[op.inputs[0]].shape;
    std::size_t groups = 0;
    std::int32_t before = -1;
    for (const std::int32_t axis : std::get<tosa::Transpose>(op.fields).perms) {
      if (from[static_cast<std::size_t>(axis)] == 1) continue;
      std::int32_t next = before + 1;
      while (next < static_cast<std::int32_t>(from.size()) && from[static_cast<std::size_t>(next)] == 1) ++next;
      if (groups == 0 || axis != next) ++groups;
      before = axis;
    }
    constexpr std::size_t kAtOnce = 3;
    const double steps = groups <= kAtOnce ? 1 : groups == kAtOnce + 1 ? machine_.steps_of_4 : machine_.steps_of_5;
    double units = bytes(step.output);
    if (machine_.is_u85) {  // whole bricks of channels are computed
      const double brick = bits(step.output) > 8 ? 8 : 16;
      const double channels = graph_.values[step.output].shape.back();
      units = units / channels * ceiling(channels, brick) * brick;
    }
    return steps * at(CostKind::kTranspose, units);
  }

  // Factors of channels are read no faster than this, however few pixels there are.
  double by_channel(ValueIndex v) const {
    const auto& shape = graph_.values[v].shape;
    if (!machine_.is_u85 || shape.empty()) return 0;
    return kWeightCycles * ceiling(shape.back(), static_cast<double>(machine_.lanes_deep)) *
           static_cast<double>(machine_.lanes_deep);
  }

  double across(const std::vector<std::int32_t>& shape) const {  // blocks of columns of all rows
    return static_cast<double>(shape[0]) * shape[1] * ceiling(shape[2], static_cast<double>(machine_.lanes_across));
  }
  double pooled(const tosa::Operator& op, const Step& step) const {
    double taps = 4;
    if (const auto* pool = std::get_if<tosa::AvgPool>(&op.fields))
      taps = std::max(taps, 1.0 * pool->kernel[0] * pool->kernel[1]);
    if (const auto* pool = std::get_if<tosa::MaxPool>(&op.fields))
      taps = std::max(taps, 1.0 * pool->kernel[0] * pool->kernel[1]);
    const auto& shape = graph_.values[step.output].shape;
    const double blocks = across(shape) * ceiling(shape[3], static_cast<double>(machine_.lanes_deep));
    return 100 + blocks * taps * bits(step.inputs[0]) / 2;
  }

  double products(const tosa::Operator& op, const Step& step) const {
    const auto& in = graph_.values[step.inputs[0]].shape;
    const auto& out = graph_.values[op.outputs[0]].shape;
    const double width = bits(step.inputs[0]) / 8;
    if (op.op == tosa::Op::kMatMul) return 200 + machine_.product * width * count(op.outputs[0]) * in[2];
    const auto& weight = graph_.values[op.inputs[1]].shape;
    const double made = count(op.outputs[0]);
    const double read = count(op.inputs[1]) / machine_.weight_bytes;
    const double written = (bits(step.output) > 16 || width > 1 ? 0.75 : 0.5) * machine_.elementwise * made;
    if (op.op == tosa::Op::kDepthwiseConv2d) {
      // Windows are computed in parts of at most 8 by 8, of each of which four taps at once.
      constexpr std::int32_t kPart = 8;
      double taps = 0;
      for (std::int32_t y = 0; y < weight[0]; y += kPart) {
        for (std::int32_t x = 0; x < weight[1]; x += kPart) {
          taps += ceiling(1.0 * std::min(weight[0] - y, kPart) * std::min(weight[1] - x, kPart), 4);
        }
      }
      const double min = machine_.is_u85 ? kWeightCycles * static_cast<double>(machine_.lanes_deep) : 0;
      const double deep = ceiling(out[3], static_cast<double>(machine_.lanes_deep));
      return 150 + std::max({taps * deep * std::max(4 * across(out) * width, min), written, read});
    }
    const double parts = positions(op);
    const double columns = parts == 1 ? across(out) : 1;
    const double deep = ceiling(out[3], static_cast<double>(machine_.lanes_deep));
    const double taps = 1.0 * weight[1] * weight[2];
    const double channels = weight.back();
    const double block = machine_.macs / static_cast<double>(machine_.lanes_across * machine_.lanes_deep);
    // Channel after channel of each tap, or taps together where there are few channels.
    const double by_depth = taps * ceiling(channels, 32 / width) * 32 / width;
    const double by_taps = ceiling(taps, 4 / width) * 4 / width * ceiling(channels, 8) * 8;
    const double steps = std::min(by_depth, by_taps) * width / block;
    // Weights are decoded no faster than this.
    const double min = machine_.is_u85 ? 16 : 4;
    const double computed = deep * steps * std::max(columns, min);
    return parts * (150 + std::max({computed, written / parts, read}));
  }

  // Of each operator. Tensors live from where they are made to where they are read last. A result may take the place of
  // an operand that is read for the last time.
  std::vector<double> bytes_in_use() const {
    std::vector<double> result(graph_.operators.size(), 0.0);
    constexpr double kBrick = 16;  // channels are stored in bricks
    const auto stored = [&](ValueIndex v) {
      const auto& shape = graph_.values[v].shape;
      const double channels = shape.empty() ? 1 : shape.back();
      const bool is_border = maker_[v] == kNone || std::ranges::find(graph_.outputs, v) != graph_.outputs.end();
      return is_border || channels < kBrick ? bytes(v) : bytes(v) / channels * ceiling(channels, kBrick) * kBrick;
    };
    std::vector<std::size_t> last(graph_.values.size(), 0);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      for (const ValueIndex input : steps_[i].inputs) last[input] = i;
    }
    for (const ValueIndex output : graph_.outputs) last[source_of(output)] = steps_.size();
    double alive = 0;
    std::vector<bool> is_alive(graph_.values.size(), false);
    for (const ValueIndex input : graph_.inputs) {
      if (last[input] == 0 &&
          (steps_.empty() || std::ranges::find(steps_[0].inputs, input) == steps_[0].inputs.end())) {
        if (std::ranges::find(graph_.outputs, input) == graph_.outputs.end()) continue;
      }
      is_alive[input] = true;
      alive += stored(input);
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      double reused = 0;
      for (const ValueIndex input : step.inputs) {
        const bool ends = is_alive[input] && last[input] == i;
        if (ends && tosa::is_elementwise(graph_.operators[step.op].op)) reused = std::max(reused, stored(input));
      }
      alive += stored(step.output);
      is_alive[step.output] = true;
      result[step.op] = alive - std::min(reused, stored(step.output));
      for (const ValueIndex input : step.inputs) {
        if (!is_alive[input] || last[input] != i) continue;
        is_alive[input] = false;
        alive -= stored(input);
      }
    }
    return result;
  }

  const tosa::Graph& graph_;
  const Machine& machine_;
  std::vector<std::uint32_t> maker_;                 // by value
  std::vector<std::vector<std::uint32_t>> readers_;  // by value
  std::vector<bool> is_part_;                        // by operator: of another one
  std::vector<bool> is_of_reader_;                   // by operator: and that one reads it
  std::vector<Step> steps_;
};

}  // namespace

GraphCost estimate(const tosa::Graph& graph, const Machine& machine) { return Walk(graph, machine).run(); }

}  // namespace isthmus::ethos_u
