// Makes a graph of each node, once for all samples.
#include "targets/ethos_u/integer_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "targets/ethos_u/desc.h"
#include "targets/ethos_u/forms/forms.h"
#include "targets/tosa/interpreter.h"

namespace isthmus::ethos_u {
namespace {

// Places of the axes of one order in another.
Ints places(const Order& of, const Order& in) {
  Ints result;
  for (const std::uint8_t axis : of) result.push_back(std::ranges::find(in, axis) - in.begin());
  return result;
}

// Memory has no signs; what RESCALE takes or gives as unsigned is typed so here.
Tensor as_type(Tensor tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor result(dtype, tensor.sizes());
  std::ranges::copy(tensor.bytes(), result.mutable_bytes().begin());
  return result;
}

template <Device kDevice>
Expected<IntegerNode> by_forms(const Graph& graph, const Node& node) {
  NodeGraph made = TRY(node_graph(graph, node, kDevice));
  tosa::LoadOptions options;
  options.keeps_memory = false;  // there may be as many as there are nodes
  auto interpreter =
      std::make_shared<const tosa::Interpreter>(TRY(tosa::Interpreter::load(std::move(made.graph), options)));
  return [interpreter, taken = std::move(made.inputs), dtype = graph.type(node.outputs[0]).dtype](
             std::span<const Tensor> inputs, const SymbolValues&) -> Expected<Tensor> {
    std::vector<Tensor> arguments;
    for (const std::size_t i : taken) arguments.push_back(inputs[i]);
    return as_type(std::move(TRY(interpreter->run(arguments))[0]), dtype);
  };
}

bool is_common(Op op) {
  return std::ranges::any_of(common_integer_kernels(), [&](const IntegerKernelRow& row) { return row.op == op; });
}

template <Device kDevice>
std::vector<IntegerKernelRow> form_rows() {
  IntegerRules rules;
  rules.sharing = sharing();
  std::vector<IntegerKernelRow> rows;
  for (std::size_t i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    const FormRow* form = find_form(op);
    if (form == nullptr || is_common(op)) continue;
    rows.push_back({.op = op,
                    .prepare = by_forms<kDevice>,
                    .shares = must_share(rules, op),
                    .takes_u8 = form->core == tosa::Op::kRescale});
  }
  return rows;
}

template <Device kDevice>
const IntegerKernels& kernels_on() {
  static const IntegerKernels kTable(IntegerKernels::Widths::k8And16, {common_integer_kernels(), form_rows<kDevice>()});
  return kTable;
}

}  // namespace

Expected<NodeGraph> node_graph(const Graph& graph, const Node& node, Device device) {
  const NodeForm form{graph, node, DType::kI8, device};
  if (auto reason = form_refusal(form)) return fail(ErrorKind::kUnsupported, text_of(*reason));
  const FormRow& row = *find_form(node.op);
  const OrderDemand demand = row.order(graph, node);
  CHECK(demand.rule != OrderRule::kPermute, "a permute is not a computation");
  TosaBuilder builder(device, TosaBuilder::Constants::kWritten);
  builder.begin("y", {});
  NodeGraph result;
  NodeLowering lowering{form, builder, {}, {}, usual_order(demand, graph.type(node.outputs[0]).rank())};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool is_ordered = i < demand.ordered_inputs;
    if (!is_ordered && form.is_constant(i)) {
      if (!graph.constant(node.inputs[i])->data) return bad_input("a constant without data");
      continue;
    }
    const Order plain = row_major(form.sizes(i).size());
    const Order order = is_ordered ? usual_order(demand, plain.size()) : plain;
    const Operand input = builder.input(tosa_type(form.type(i).dtype), form.sizes(i), fmt::format("x{}", i));
    lowering.reads.push_back(order);
    lowering.inputs.push_back(builder.transpose(input, places(order, plain)));
    result.inputs.push_back(i);
  }
  const Operand made = TRY(row.lower(lowering));
  Operand output = builder.transpose(made, places(row_major(lowering.order.size()), lowering.order));
  const bool is_input = std::ranges::find(builder.graph().inputs, output.id) != builder.graph().inputs.end();
  if (is_input) output = builder.unary(tosa::Op::kIdentity, output);
  builder.output(output);
  result.graph = std::move(builder).take();
  return result;
}

const IntegerKernels& integer_kernels(Device device) {
  switch (device) {
    case Device::kU55:
      return kernels_on<Device::kU55>();
    case Device::kU85:
      return kernels_on<Device::kU85>();
    case Device::kTosaInt:
      break;
  }
  return kernels_on<Device::kTosaInt>();
}

}  // namespace isthmus::ethos_u
