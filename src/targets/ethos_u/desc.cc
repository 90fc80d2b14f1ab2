// What Ethos-U and TOSA's integer profile need.
#include "targets/ethos_u/desc.h"

#include <algorithm>
#include <cmath>

#include "ir/quantized.h"
#include "ops/table.h"
#include "targets/ethos_u/cost.h"
#include "targets/ethos_u/forms/forms.h"
#include "targets/ethos_u/integer_kernels.h"
#include "targets/ethos_u/legalize/legalize.h"
#include "targets/ethos_u/limits.h"
#include "targets/ethos_u/lower.h"
#include "targets/ethos_u/vela.h"
#include "targets/target.h"

namespace isthmus::ethos_u {
namespace {

constexpr DType kStorage[] = {DType::kI8, DType::kI16};

constexpr SharingRow kSharing[] = {
    {.of = QFlow::kMovesData, .sharing = Sharing::kMustEqual, .because = "moves bytes and cannot rescale them"},
    {.of = QFlow::kJoinsInputs,
     .sharing = Sharing::kMustEqual,
     .because = "concatenates bytes and cannot rescale them"},
    {.of = QFlow::kNarrowsRange,
     .sharing = Sharing::kMustEqual,
     .because = "compares quantized values and cannot rescale them"},
    {.of = QFlow::kPins, .sharing = Sharing::kMustEqual, .because = "has parameters of the archive"},
    {.of = Op::kAvgPool2d, .sharing = Sharing::kMustEqual, .because = "has zero points but no scale"},
};

// RESCALE multiplies by less than 2^31 and shifts by 2 to 62 bits, and what it scales must be smaller than half of that
// shift: the larger the ratio, the smaller the sums that it takes.
constexpr std::string_view kSums = "RESCALE of its sums would leave them less than 29 bits";
constexpr std::string_view kTooFewBits = "RESCALE of its quantized values would leave them less than 18 bits";
constexpr RatioLimit kRatios[] = {
    {.op = Op::kConv2d, .of = RatioOf::kProduct, .min = 0, .max = 2, .because = kSums},
    {.op = Op::kConvTranspose2d, .of = RatioOf::kProduct, .min = 0, .max = 2, .because = kSums},
    {.op = Op::kLinear, .of = RatioOf::kProduct, .min = 0, .max = 2, .because = kSums},
    {.op = Op::kMatmul, .of = RatioOf::kProduct, .min = 0, .max = 2, .because = kSums},
    {.op = Op::kMul, .of = RatioOf::kProduct, .min = 0, .max = 2, .because = kSums},
    {.op = Op::kAdd, .of = RatioOf::kEachInput, .min = 0, .max = 0x1p12, .because = kTooFewBits},
    {.op = Op::kSub, .of = RatioOf::kEachInput, .min = 0, .max = 0x1p12, .because = kTooFewBits},
    {.op = Op::kMinimum, .of = RatioOf::kEachInput, .min = 0x1p-12, .max = 0x1p12, .because = kTooFewBits},
    {.op = Op::kMaximum, .of = RatioOf::kEachInput, .min = 0x1p-12, .max = 0x1p12, .because = kTooFewBits},
    {.op = Op::kMean, .of = RatioOf::kEachInput, .min = 0, .max = 0x1p12, .because = kTooFewBits},
    {.op = Op::kSum, .of = RatioOf::kEachInput, .min = 0, .max = 2, .because = kSums},
    {.op = Op::kRescale, .of = RatioOf::kEachInput, .min = 0x1p-30, .max = 0x1p12, .because = kTooFewBits},
};

bool takes_bounds(const Node& node) {
  const FormRow* row = find_form(node.op);
  return row != nullptr && row->has_bounds;
}

WideReads wide_reads(const Node& node) {
  const FormRow* row = find_form(node.op);
  return row == nullptr ? WideReads::kNever : row->wide_reads;
}

template <Device kDevice>
bool has_form_on(Op op) {
  const FormRow* row = find_form(op);
  return row != nullptr && exists(row->core, kDevice);
}

template <Device kDevice>
std::vector<Op> ops_on() {
  std::vector<Op> ops;
  for (std::size_t i = 0; i < kOpCount; ++i) {
    if (has_form_on<kDevice>(static_cast<Op>(i))) ops.push_back(static_cast<Op>(i));
  }
  return ops;
}

template <Device kDevice>
std::vector<LimitText> limits_on() {
  std::vector<LimitText> result;
  for (const Limit& limit : limits()) {
    if (!has(limit.devices, kDevice)) continue;
    const bool is_of_all = limit.op == tosa::Op::kInvalid;
    result.push_back({is_of_all ? "any operator" : tosa::name_of(limit.op), code_text(limit.code), limit.sentence});
  }
  return result;
}

template <Device kDevice>
std::vector<std::string_view> operators_on(const Graph& graph, const Node& node) {
  const Forms found = forms(graph, node, DType::kI8, kDevice);
  std::vector<std::string_view> names;
  if (!found) return names;
  for (const TosaForm& form : *found) names.push_back(tosa::name_of(form.op));
  return names;
}

double bytes_of(const Graph& graph, ValueId id, DType dtype) {
  double bytes = dtype == DType::kI16 ? 2 : 1;
  for (const Dim dim : graph.type(id).shape) bytes *= dim.is_fixed() ? static_cast<double>(dim.value()) : 1;
  return bytes;
}

template <Device kDevice>
NodeCost cost_on(const Graph& graph, const Node& node, QuantizedTypes types) {
  const auto made = form_graph(graph, node, types, kDevice);
  if (!made) return {};
  GraphCost cost = estimate(*made, *usual_machine(kDevice));
  if (find_form(node.op)->is_by_row) {
    constexpr std::int64_t kParts = 4;  // in which it is computed where memory is short
    if (const auto parted = form_graph(graph, node, types, kDevice, kParts))
      cost.sram_bytes = estimate(*parted, *usual_machine(kDevice)).sram_bytes;
  }
  double outside = bytes_of(graph, node.outputs[0], types.result);
  double turned = 0;
  const OrderDemand demand = find_form(node.op)->order(graph, node);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (!is_data_input(node.op, i) || graph.constant(id) != nullptr) continue;
    outside += bytes_of(graph, id, types.data);
    // The model's input comes as the model has it.
    const bool is_turned = graph[id].kind == ValueKind::kInput && demand.rule == OrderRule::kFixed &&
                           !std::ranges::is_sorted(demand.order) && graph.type(id).rank() == 4 &&
                           !graph.type(id).shape[1].is(1);
    if (!is_turned) continue;
    // What U85 turns it stores in bricks of 16 channels, but for what is reshaped.
    const auto channels = static_cast<double>(graph.type(id).shape[1].value());
    const bool is_reshaped = std::ranges::any_of(made->operators, [&](const tosa::Operator& op) {
      return op.op == tosa::Op::kReshape && op.inputs[0] == made->inputs[0];
    });
    const double brick = kDevice == Device::kU85 && !is_reshaped ? std::ceil(channels / 16) * 16 / channels : 1;
    turned += brick * bytes_of(graph, id, types.data);
  }
  return {cost.cycles, std::max(cost.sram_bytes - outside, 0.0) + turned};
}

std::optional<DelegateCost> delegate_cost(std::string_view target, const Blob& delegate) {
  const Machine* machine = find_machine(target);
  const auto graph = tosa::read_graph(delegate);
  if (machine == nullptr || !graph) return std::nullopt;
  const GraphCost cost = ethos_u::estimate(*graph, *machine);
  return DelegateCost{cost.cycles, cost.sram_bytes};
}

template <Device kDevice>
std::optional<SegmentCost> segment_cost(std::string_view target, const Graph& graph, const Segment& segment) {
  const Machine* machine = find_machine(target);
  const auto made = lower_graph(graph, segment, kDevice);
  if (machine == nullptr || !made) return std::nullopt;
  const GraphCost cost = ethos_u::estimate(made->graph, *machine);
  SegmentCost result{{cost.cycles, cost.sram_bytes}, {}};
  for (std::size_t i = 0; i < made->origins.size(); ++i) {
    if (cost.by_operator[i] == 0) continue;
    const NodeId node = made->origins[i];
    if (result.nodes.empty() || result.nodes.back().node != node) result.nodes.push_back({node});
    NodeShare& share = result.nodes.back();
    share.cycles += cost.by_operator[i];
    share.sram_bytes = std::max(share.sram_bytes, cost.bytes_by_operator[i]);
  }
  return result;
}

template <Device kDevice>
TargetDesc desc_of(std::string_view name, std::string_view label, std::string_view what) {
  return {
      .name = name,
      .what = what,
      .label = label,
      .unit = kDevice == Device::kTosaInt ? "delegate" : "NPU",
      .ops = ops_on<kDevice>,
      .legalize = legalizations(kDevice),
      .forms = {.max_rank = kMaxRank,
                .max_cat_inputs = kMaxCatInputs,
                .has_form = has_form_on<kDevice>,
                .needs_other_form =
                    [](const Graph& graph, const Node& node) {
                      return is_static(graph, node) && quantized_refusal(graph, node, DType::kI8, kDevice);
                    }},
      .integers =
          {
              .kernels = &integer_kernels(kDevice),
              .has_float = false,
              .storage = kStorage,
              .sharing = kSharing,
              .ratios = kRatios,
              .sums = {},
              .pins = {},
              .has_rescale = true,
              .refusal = [](const Graph& graph, const Node& node,
                            QuantizedTypes types) { return quantized_refusal(graph, node, types, kDevice); },
              .wide_reads = wide_reads,
              .cost = kDevice == Device::kTosaInt ? nullptr : cost_on<kDevice>,
              .takes_bounds = takes_bounds,
          },
      .refusal = [](const Graph& graph, const Node& node) { return refusal(graph, node, kDevice); },
      .lower = [](const Graph& graph, const Segment& segment) { return lower_segment(graph, segment, kDevice); },
      .needs_fixed_sizes = true,
      .operators = operators_on<kDevice>,
      .limits = limits_on<kDevice>,
      .estimate = kDevice == Device::kTosaInt ? nullptr : delegate_cost,
      .estimate_nodes = kDevice == Device::kTosaInt ? nullptr : segment_cost<kDevice>,
      .finish = kDevice == Device::kTosaInt ? nullptr : &kVelaStep,
      .unfinished = Unfinished{"TOSA bytes", "not compiled by vela for a device"},
  };
}

bool is_quantized_or_moves(const TensorType& type, QFlow flow) {
  if (type.quant || !is_integer(type.dtype)) return true;
  return flow == QFlow::kMovesData || flow == QFlow::kJoinsInputs;
}

// Of the values that a quantized node computes with: floats have no place on the device, plain integers only move.
std::optional<Reason> value_refusal(const Graph& graph, const Node& node) {
  const OpDef& row = def(node.op);
  const auto check = [&](ValueId id) -> std::optional<Reason> {
    const TensorType& type = graph.type(id);
    if (is_floating(type.dtype) && type.dtype != DType::kF32)
      return Reason{ReasonCode::kOtherFloat, typed_name(graph, id)};
    if (is_floating(type.dtype)) return Reason{ReasonCode::kFloatValue, typed_name(graph, id)};
    if (!is_quantized_or_moves(type, row.flow))
      return Reason{ReasonCode::kQuantizedType, typed_name(graph, id) + ", not quantized"};
    return std::nullopt;
  };
  if (auto reason = check(node.outputs[0])) return reason;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!is_data_input(node.op, i)) continue;
    if (auto reason = check(node.inputs[i])) return reason;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Reason> quantized_refusal(const Graph& graph, const Node& node, QuantizedTypes types, Device device) {
  const Forms found = forms(graph, node, types, device);
  if (!found) return found.error();
  for (const TosaForm& form : *found) {
    if (auto reason = refusal(form, device)) return reason;
  }
  return std::nullopt;
}

std::optional<Reason> refusal(const Graph& graph, const Node& node, Device device) {
  if (auto reason = common_refusal(graph, node)) return reason;
  // Others than those between floats and quantized values are the model's own.
  if ((node.op == Op::kQuantize || node.op == Op::kDequantize) && is_quantized(graph, node))
    return Reason{ReasonCode::kFloatIo, {}};
  if (auto reason = value_refusal(graph, node)) return reason;
  return quantized_refusal(graph, node, DType::kI8, device);
}

std::span<const SharingRow> sharing() { return kSharing; }

std::span<const TargetDesc> descs() {
  static const TargetDesc kDescs[] = {
      desc_of<Device::kU55>("ethos-u55-128", "Ethos-U55", "Arm Ethos-U55 with 128 MACs a cycle, through TOSA and vela"),
      desc_of<Device::kU55>("ethos-u55-256", "Ethos-U55", "Arm Ethos-U55 with 256 MACs a cycle, through TOSA and vela"),
      desc_of<Device::kU55>("ethos-u55-32", "Ethos-U55", "Arm Ethos-U55 with 32 MACs a cycle, through TOSA and vela"),
      desc_of<Device::kU55>("ethos-u55-64", "Ethos-U55", "Arm Ethos-U55 with 64 MACs a cycle, through TOSA and vela"),
      desc_of<Device::kU55>("ethos-u65-256", "Ethos-U65", "Arm Ethos-U65 with 256 MACs a cycle, through TOSA and vela"),
      desc_of<Device::kU55>("ethos-u65-512", "Ethos-U65", "Arm Ethos-U65 with 512 MACs a cycle, through TOSA and vela"),
      desc_of<Device::kU85>("ethos-u85-1024", "Ethos-U85",
                            "Arm Ethos-U85 with 1024 MACs a cycle, through TOSA and vela"),
      desc_of<Device::kU85>("ethos-u85-128", "Ethos-U85", "Arm Ethos-U85 with 128 MACs a cycle, through TOSA and vela"),
      desc_of<Device::kU85>("ethos-u85-2048", "Ethos-U85",
                            "Arm Ethos-U85 with 2048 MACs a cycle, through TOSA and vela"),
      desc_of<Device::kU85>("ethos-u85-256", "Ethos-U85", "Arm Ethos-U85 with 256 MACs a cycle, through TOSA and vela"),
      desc_of<Device::kU85>("ethos-u85-512", "Ethos-U85", "Arm Ethos-U85 with 512 MACs a cycle, through TOSA and vela"),
      desc_of<Device::kTosaInt>("tosa-int", "TOSA", "the integer profile of TOSA 1.0, with 16-bit activations"),
  };
  return kDescs;
}

}  // namespace isthmus::ethos_u
