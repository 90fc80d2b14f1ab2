// Builds the program in the order of the schedule.
#include "program/lower/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "formats/executorch/io_params.h"
#include "ir/literals.h"
#include "ir/quantized.h"
#include "program/lower/write_back.h"
#include "targets/host/call_writer.h"
#include "targets/host/kernel.h"
#include "targets/host/node_writer.h"
#include "targets/host/program_values.h"

namespace isthmus {
namespace {

// How the frontend's container of inputs or outputs is spelled: one leaf, or a tuple of leaves.
std::string container_text(std::size_t leaves) {
  const std::string leaf = R"({"type": null, "context": null, "children_spec": []})";
  if (leaves == 1) return "[1, " + leaf + "]";
  std::string children;
  for (std::size_t i = 0; i < leaves; ++i) children += (i == 0 ? "" : ", ") + leaf;
  return fmt::format(R"([1, {{"type": "builtins.tuple", "context": "null", "children_spec": [{}]}}])", children);
}

class ProgramBuilder {
 public:
  ProgramBuilder(const Graph& graph, const Partitioning& partitioning, const TargetDesc& target,
                 host::ConstantData data = host::ConstantData::kNeeded)
      : graph_(graph),
        partitioning_(partitioning),
        target_(target),
        values_(graph, lowered_.program, data),
        calls_(values_, lowered_.program.plans.emplace_back()) {
    lowered_.program.constants.emplace_back();
    lowered_.program.initial_values.emplace_back();
    plan().name = "forward";
    plan().chains.emplace_back();
  }

  // What runs on the host and what the model returns, without the delegates.
  Expected<void> host_calls() {
    for (const auto& step : partitioning_.schedule) {
      if (const auto* node = std::get_if<NodeId>(&step)) TRY(add_host_call(*node));
    }
    for (const Output& output : graph_.outputs()) TRY(add_output(output));
    return {};
  }
  Expected<void> foreign_calls() {
    for (const auto& step : partitioning_.schedule) {
      const auto* node = std::get_if<NodeId>(&step);
      if (node != nullptr && graph_[*node].op == Op::kForeign) TRY(add_host_call(*node));
    }
    return {};
  }

  Expected<LoweredProgram> run(const std::vector<Order>& input_orders) {
    for (std::size_t i = 0; i < input_orders.size(); ++i) values_.set_order(graph_.inputs()[i], input_orders[i]);
    for (const ValueId input : graph_.inputs()) plan().inputs.push_back(TRY(values_.tensor(input)));
    for (const GraphState& state : graph_.states()) places_.insert(TRY(values_.state(state)));
    for (const auto& step : partitioning_.schedule) {
      if (const auto* segment = std::get_if<std::size_t>(&step)) {
        TRY(add_segment(partitioning_.segments[*segment]));
        lowered_.made_by.resize(instructions().size(), *segment);
      } else {
        TRY(add_host_call(std::get<NodeId>(step)));
        lowered_.made_by.resize(instructions().size(), std::get<NodeId>(step));
      }
    }
    for (const Output& output : graph_.outputs()) TRY(add_written_input(output));
    for (const Output& output : graph_.outputs()) TRY(add_output(output));
    TRY(write_back());
    const std::vector<pte::Instruction> size_calls = calls_.take_size_calls();
    lowered_.made_by.resize(instructions().size());
    instructions().insert(instructions().begin(), size_calls.begin(), size_calls.end());
    lowered_.made_by.insert(lowered_.made_by.begin(), size_calls.size(), MadeBy());
    plan().container_inputs = container_text(plan().inputs.size());
    plan().container_outputs = container_text(plan().outputs.size());
    add_io_methods();
    return std::move(lowered_);
  }

  // Programs with quantized inputs or outputs say how to convert floats.
  void add_io_methods() {
    const auto add = [&](ValueId id, pte::IoSide side, std::size_t index) {
      const TensorType& type = graph_.type(id);
      if (!type.quant || type.quant->axis >= 0) return;
      const pte::IoParams params{static_cast<double>(type.quant->scale()), type.quant->zero_point, type.dtype};
      pte::add_io_params(lowered_.program, side, index, params);
    };
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) add(graph_.inputs()[i], pte::IoSide::kInput, i);
    std::size_t index = 0;
    for (const Output& output : graph_.outputs()) {
      if (output.kind == OutputKind::kMutation) continue;
      if (const auto* id = std::get_if<ValueId>(&output.value)) add(*id, pte::IoSide::kOutput, index);
      ++index;
    }
  }

 private:
  pte::Plan& plan() { return lowered_.program.plans[0]; }
  std::vector<pte::Instruction>& instructions() { return plan().chains[0].instructions; }

  Expected<void> add_segment(const Segment& segment) {
    Segment ordered = segment;
    for (const ValueId input : segment.inputs) ordered.input_orders.push_back(values_.order(input));
    LoweredSegment lowered = TRY(target_.lower(graph_, ordered));
    pte::DelegateCall call{static_cast<std::uint32_t>(plan().delegates.size()), {}};
    for (const DelegateInput& input : lowered.inputs) {
      call.args.push_back(input.value ? TRY(values_.tensor(*input.value))
                                      : values_.constant(input.dtype, input.sizes, input.bytes));
    }
    for (const ValueId output : lowered.outputs) call.args.push_back(TRY(values_.tensor(output)));
    instructions().emplace_back(std::move(call));
    for (pte::NamedData& data : lowered.named_data) {
      if (named_.insert(data.key).second) lowered_.program.named_data.push_back(std::move(data));
    }
    lowered_.delegates.push_back({segment.nodes.size(), lowered.device_nodes, lowered.delegate.id,
                                  lowered.delegate.blob, std::move(lowered.conversions)});
    plan().delegates.push_back(std::move(lowered.delegate));
    return {};
  }

  Expected<void> add_host_call(NodeId id) {
    const Node& node = graph_[id];
    const host::WrittenOp* row = host::find_written_op(node.op);
    Expected<void> written;
    if (is_quantized(graph_, node) && !(row != nullptr && row->takes_quantized)) {
      // A kernel would take the quantized values for numbers.
      written = fail(ErrorKind::kUnsupported, "ExecuTorch's host kernels do not support its quantized values");
    } else if (row == nullptr) {
      written = fail(ErrorKind::kUnsupported, "ExecuTorch has no host kernel for it");
    } else {
      if (keeps_order(*row, node)) values_.set_order(node.outputs[0], values_.order(node.inputs[0]));
      written = write_calls(*row, graph_, node, values_, calls_);
    }
    if (!written) {
      const Reason& reason = std::get<Reason>(partitioning_.place[id.index]);
      written.error().message = fmt::format("it cannot run on {}: {} [{}]; and on the host: {}; {}", target_.name,
                                            text_of(reason, target_.label), code_text(reason.code),
                                            written.error().message, hint(reason.code, target_.name));
    }
    return within(std::move(written), [&] { return node_text(graph_, node); });
  }

  // Inputs that the model writes to are places as states are.
  Expected<void> add_written_input(const Output& output) {
    if (output.kind == OutputKind::kMutation) places_.insert(TRY(values_.tensor(*graph_.find(output.target))));
    return {};
  }
  // The value of the end of the run. What stands in a place now is about to be overwritten: a copy of it.
  Expected<pte::ValueIndex> kept(ValueId id) {
    const pte::ValueIndex value = TRY(values_.tensor(id));
    if (!places_.contains(value)) return value;
    const pte::ValueIndex copy = TRY(values_.scratch(graph_.type(id), values_.order(id)));
    calls_.copy(value, copy);
    return copy;
  }
  Expected<void> write_back() {
    std::vector<WriteBack> writes;
    for (const Output& output : graph_.outputs()) {
      if (output.kind != OutputKind::kMutation) continue;
      const ValueId place = *graph_.find(output.target);
      const ValueId written = std::get<ValueId>(output.value);
      const pte::ValueIndex value = TRY(kept(written));
      writes.push_back({TRY(values_.tensor(place)), value});
      if (values_.order(place) != values_.order(written)) {
        return fail(ErrorKind::kUnsupported,
                    fmt::format("the value written to %{} has another memory layout", output.target));
      }
    }
    for (const WriteBack& write : make_in_place(plan(), writes)) {
      calls_.write_back(write.place, write.written);
    }
    return {};
  }

  Expected<void> add_output(const Output& output) {
    if (output.kind == OutputKind::kMutation) return {};
    if (const auto* id = std::get_if<ValueId>(&output.value)) {
      plan().outputs.push_back(TRY(kept(*id)));
      return {};
    }
    plan().outputs.push_back(TRY(known_output(std::get<ArgValue>(output.value))));
    return {};
  }
  Expected<pte::ValueIndex> known_output(const ArgValue& argument) {
    if (std::holds_alternative<NoneArg>(argument.value)) return values_.none();
    if (const auto* flag = std::get_if<bool>(&argument.value)) return values_.boolean(*flag);
    if (const auto* number = std::get_if<double>(&argument.value)) return values_.real(*number);
    if (const auto* text = std::get_if<std::string>(&argument.value)) return values_.text(*text);
    const auto* dim = std::get_if<Dim>(&argument.value);
    if (dim != nullptr) return calls_.size(*dim);
    return fail(ErrorKind::kUnsupported, "the model returns a value that is neither a tensor nor a constant number");
  }

  const Graph& graph_;
  const Partitioning& partitioning_;
  const TargetDesc& target_;
  LoweredProgram lowered_;
  host::ProgramValues values_;
  host::CallWriter calls_;
  std::set<std::string> named_;
  std::set<pte::ValueIndex> places_;  // what the run leaves something else in
};

}  // namespace

Expected<LoweredProgram> lower(const Graph& graph, const Partitioning& partitioning, const TargetDesc& target,
                               const std::vector<Order>& input_orders) {
  return ProgramBuilder(graph, partitioning, target).run(input_orders);
}

Expected<void> demand_host_kernels(const Graph& graph, const Partitioning& partitioning, const TargetDesc& target) {
  return ProgramBuilder(graph, partitioning, target, host::ConstantData::kOptional).host_calls();
}

Expected<void> demand_known_ops(const Graph& graph, const Partitioning& partitioning, const TargetDesc& target) {
  return ProgramBuilder(graph, partitioning, target, host::ConstantData::kOptional).foreign_calls();
}

}  // namespace isthmus
