// Walks the graph as Vela would compile it: what becomes part of a neighbour costs nothing.
#include "targets/ethos_u/cost.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "targets/ethos_u/cost_products.h"

namespace isthmus::ethos_u {
namespace {

using tosa::Type;
using tosa::ValueIndex;

constexpr std::uint32_t kNone = ~std::uint32_t{0};

constexpr double kWeightCycles = 4;  // of a channel's weights that are read at once
constexpr double kShortRows = 1.37;  // rows of less than a brick take longer to write than bricks

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
    mark_input_slices();
    for (std::uint32_t i = 0; i < graph_.operators.size(); ++i) {
      const tosa::Operator& op = graph_.operators[i];
      if (is_free(op.op) || is_part_[i]) continue;
      Step step{i, {}, joined_output(i), false};
      step.is_clamped = maker_[step.output] != i && graph_.operators[maker_[step.output]].op == tosa::Op::kClamp;
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
    bool is_clamped;
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

  // The value that is read in place of this one: reshaped, or before a RESCALE or a SLICE that the reader does.
  ValueIndex source_of(ValueIndex v) const {
    while (maker_[v] != kNone) {
      const tosa::Operator& op = graph_.operators[maker_[v]];
      const bool is_view = op.op == tosa::Op::kReshape || op.op == tosa::Op::kIdentity;
      if (!is_view && !reads_through(maker_[v])) break;
      v = op.inputs[0];
    }
    return v;
  }
  bool reads_through(std::uint32_t op) const { return is_part_[op] && is_of_reader_[op]; }

  // SLICEs of images, which the convolution that alone reads them does.
  void mark_input_slices() {
    for (const tosa::Operator& op : graph_.operators) {
      if (!multiplies(op.op) || op.op == tosa::Op::kMatMul) continue;
      const std::uint32_t maker = maker_[op.inputs[0]];
      if (maker == kNone || graph_.operators[maker].op != tosa::Op::kSlice || readers_[op.inputs[0]].size() != 1)
        continue;
      is_part_[maker] = is_of_reader_[maker] = true;
    }
  }

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
    bool is_rescaled = false;
    while (readers_[out].size() == 1 && readers_[out][0] != kNone) {
      const std::uint32_t next = behind_views(out);
      if (next == kNone) break;
      const tosa::Operator& reader = graph_.operators[next];
      const bool rescales = reader.op == tosa::Op::kRescale && !is_part_[next] && !is_rescaled &&
                            op != tosa::Op::kAvgPool2d && op != tosa::Op::kRescale;
      const bool looks_up = reader.op == tosa::Op::kTable && takes_tables && is_joined_table(reader);
      if (!rescales && !looks_up && reader.op != tosa::Op::kClamp) break;
      is_part_[next] = true;
      is_rescaled = rescales || (is_rescaled && !looks_up);
      out = reader.outputs[0];
    }
    return out;
  }
  // What alone reads a value, or a reshaped one.
  std::uint32_t behind_views(ValueIndex v) const {
    while (readers_[v].size() == 1 && readers_[v][0] != kNone) {
      const tosa::Operator& reader = graph_.operators[readers_[v][0]];
      if (reader.op != tosa::Op::kReshape && reader.op != tosa::Op::kIdentity) return readers_[v][0];
      v = reader.outputs[0];
    }
    return kNone;
  }
  // Tables of 8 bits, and those of 16 whose results have no more.
  bool is_joined_table(const tosa::Operator& table) const {
    if (bits(table.inputs[0]) == 8) return true;
    const std::uint32_t next = behind_views(table.outputs[0]);
    if (next == kNone) return false;
    const tosa::Operator& reader = graph_.operators[next];
    return (machine_.is_u85 && tosa::is_elementwise(reader.op)) ||
           (reader.op == tosa::Op::kRescale && bits(reader.outputs[0]) == 16);
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
        if (wide > 16) return at(CostKind::kRescaleWide, made);
        return std::max(at(CostKind::kRescale, made * wide / 8), by_channel(step.output));
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
    double steps = groups <= kAtOnce ? 1 : groups == kAtOnce + 1 ? machine_.steps_of_4 : machine_.steps_of_5;
    double units = bytes(step.output);
    if (machine_.is_u85) {  // whole bricks of channels are computed
      const double brick = bits(step.output) > 8 ? 8 : 16;
      const double channels = graph_.values[step.output].shape.back();
      const double short_rows = channels < brick && is_reshaped(step.output) ? kShortRows : 1;
      units = short_rows * units / channels * ceiling(channels, brick) * brick;
    } else if (groups == 2) {  // a matrix, which takes two steps where it has more axes
      constexpr double kOfMatrix = 0.625;
      constexpr double kOfWide = 0.33;
      const auto axes = std::ranges::count_if(from, [](std::int32_t size) { return size > 1; });
      steps = (axes > 2 ? 2 : 1) * kOfMatrix * (bits(step.output) > 8 ? kOfWide : 1);
    }
    return steps * at(CostKind::kTranspose, units);
  }

  // Factors of channels are read no faster than this, however few pixels there are.
  double by_channel(ValueIndex v) const {
    const auto& shape = graph_.values[v].shape;
    if (!machine_.is_u85 || shape.empty()) return 0;
    const auto deep = static_cast<double>(machine_.unit_by_channel.depth);
    return kWeightCycles * ceiling(shape.back(), deep) * deep;
  }

  double pooled(const tosa::Operator& op, const Step& step) const {
    double taps = 4;
    if (const auto* pool = std::get_if<tosa::AvgPool>(&op.fields))
      taps = std::max(taps, 1.0 * pool->kernel[0] * pool->kernel[1]);
    if (const auto* pool = std::get_if<tosa::MaxPool>(&op.fields))
      taps = std::max(taps, 1.0 * pool->kernel[0] * pool->kernel[1]);
    const auto& shape = graph_.values[step.output].shape;
    const Unit& unit = machine_.unit_by_channel;
    const double across = 1.0 * shape[0] * ceiling(shape[1], static_cast<double>(unit.height)) *
                          ceiling(shape[2], static_cast<double>(unit.width));
    const double blocks = across * ceiling(shape[3], static_cast<double>(unit.depth));
    return 100 + blocks * taps * bits(step.inputs[0]) / 2;
  }

  double products(const tosa::Operator& op, const Step& step) const {
    if (op.op == tosa::Op::kMatMul) {
      const double length = graph_.values[op.inputs[0]].shape[2];
      return 200 + machine_.product * bits(op.inputs[0]) / 8 * count(op.outputs[0]) * length;
    }
    const auto& weight = graph_.values[op.inputs[1]].shape;
    const bool is_by_channel = op.op == tosa::Op::kDepthwiseConv2d;
    Product product{is_by_channel, graph_.values[op.outputs[0]].shape, 1.0 * weight.back()};
    const std::size_t axis = is_by_channel ? 0 : weight.size() - 3;
    product.kernel_y = weight[axis];
    product.kernel_x = weight[axis + 1];
    product.bits = bits(step.inputs[0]);
    product.is_clamped = step.is_clamped;
    if (product.made.size() > 4) {  // of volumes
      product.made = {product.made[0] * product.made[1], product.made[2], product.made[3], product.made[4]};
    }
    double parts = 1;
    if (const double places = positions(op); places > 1) {
      parts = places;
      product.made = {1, 1, 1, product.made[3]};
    }
    return std::max(parts * ethos_u::cycles_of(machine_, product), count(op.inputs[1]) / machine_.weight_bytes);
  }

  bool is_reshaped(ValueIndex v) const {
    return std::ranges::any_of(
        readers_[v], [&](std::uint32_t i) { return i != kNone && graph_.operators[i].op == tosa::Op::kReshape; });
  }

  // U85 hands numbers on from one elementwise operator to the next without writing them, where nothing else reads them.
  bool is_handed_on(const Step& step) const {
    if (!machine_.is_u85 || !tosa::is_elementwise(graph_.operators[step.op].op)) return false;
    const std::uint32_t next = readers_[step.output].size() == 1 ? behind_views(step.output) : kNone;
    if (next == kNone) return false;
    const tosa::Operator& reader = graph_.operators[next];
    return tosa::is_elementwise(reader.op) && count(reader.outputs[0]) == count(step.output);
  }

  // Bytes of a value. Channels are stored in bricks of 16, but for what is reshaped, or moved by a U55, and what comes
  // from outside or goes there.
  double stored(ValueIndex v) const {
    constexpr double kBrick = 16;
    const auto& shape = graph_.values[v].shape;
    const bool is_border = maker_[v] == kNone || std::ranges::find(graph_.outputs, v) != graph_.outputs.end();
    if (shape.empty() || is_border) return bytes(v);
    const auto moves = [&](std::uint32_t i) {
      if (i == kNone) return true;
      const tosa::Op op = graph_.operators[i].op;
      return op == tosa::Op::kReshape || (op == tosa::Op::kTranspose && !machine_.is_u85);
    };
    if (moves(maker_[v]) || std::ranges::any_of(readers_[v], moves)) return bytes(v);
    return bytes(v) / shape.back() * ceiling(shape.back(), kBrick) * kBrick;
  }

  // What a U55 has in memory only while it computes: weights of small layers with a factor for each channel, which it
  // copies from flash, and products of computed matrices.
  double working_bytes(const tosa::Operator& op) const {
    constexpr double kMaxCopied = 6144;
    constexpr double kFactorBytes = 10;
    if (machine_.is_u85 || !multiplies(op.op)) return 0;
    if (op.op == tosa::Op::kMatMul) return 4 * count(op.inputs[0]);
    const double copied = count(op.inputs[1]) + kFactorBytes * graph_.values[op.outputs[0]].shape.back();
    return copied <= kMaxCopied ? copied : 0;
  }

  // Of each operator. Tensors live from where they are made to where they are read last. A result may take the place of
  // an operand that is as large and is read for the last time.
  std::vector<double> bytes_in_use() const {
    std::vector<double> result(graph_.operators.size(), 0.0);
    std::vector<std::size_t> last(graph_.values.size(), 0);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      for (const ValueIndex input : steps_[i].inputs) last[input] = i;
    }
    for (const ValueIndex output : graph_.outputs) last[source_of(output)] = steps_.size();
    double alive = 0;
    std::vector<double> alive_bytes(graph_.values.size(), 0.0);
    const auto begin = [&](ValueIndex v, double count) { alive += alive_bytes[v] = count; };
    for (const ValueIndex input : graph_.inputs) {
      if (last[input] == 0 &&
          (steps_.empty() || std::ranges::find(steps_[0].inputs, input) == steps_[0].inputs.end())) {
        if (std::ranges::find(graph_.outputs, input) == graph_.outputs.end()) continue;
      }
      begin(input, stored(input));
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      const double made = is_handed_on(step) ? 0 : stored(step.output);
      double reused = 0;
      for (const ValueIndex input : step.inputs) {
        const bool ends = last[input] == i && alive_bytes[input] >= made;
        if (ends && tosa::is_elementwise(graph_.operators[step.op].op)) reused = made;
      }
      begin(step.output, made);
      result[step.op] = alive - reused + working_bytes(graph_.operators[step.op]);
      for (const ValueIndex input : step.inputs) {
        if (last[input] == i) alive -= std::exchange(alive_bytes[input], 0);
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
