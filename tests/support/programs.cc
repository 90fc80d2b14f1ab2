// Puts programs and graphs together.
#include "support/programs.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "base/check.h"

namespace isthmus::test {
namespace {

std::vector<std::byte> copied(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

ProgramBuilder::ProgramBuilder() {
  program.constants.emplace_back();
  pte::Plan& plan = program.plans.emplace_back();
  plan.name = "forward";
  plan.chains.emplace_back();
  plan.buffer_sizes = {0, 0};
}

pte::ValueIndex ProgramBuilder::tensor(std::vector<std::int32_t> sizes, DType dtype, pte::Dynamism dynamism) {
  pte::Tensor tensor{dtype, std::move(sizes), {}, dynamism, false, 0, {}};
  tensor.dim_order.resize(tensor.sizes.size());
  std::iota(tensor.dim_order.begin(), tensor.dim_order.end(), std::uint8_t{0});
  std::int64_t& end = plan().buffer_sizes[1];
  tensor.allocation = pte::Allocation{1, static_cast<std::uint64_t>(end)};
  end += static_cast<std::int64_t>((pte::byte_count(tensor).value_or(0) + 15) / 16 * 16);
  return value(std::move(tensor));
}

pte::ValueIndex ProgramBuilder::constant(const Tensor& given) {
  pte::Tensor tensor{given.dtype(), {given.sizes().begin(), given.sizes().end()}, {}, {}, false, 0, {}};
  tensor.dim_order.resize(tensor.sizes.size());
  std::iota(tensor.dim_order.begin(), tensor.dim_order.end(), std::uint8_t{0});
  tensor.data_index = static_cast<std::uint32_t>(program.constants.size());
  program.constants.push_back(Blob::owning(copied(given.bytes())));
  return value(std::move(tensor));
}

pte::ValueIndex ProgramBuilder::value(pte::Value value) {
  plan().values.push_back(std::move(value));
  return static_cast<pte::ValueIndex>(plan().values.size() - 1);
}

pte::ValueIndex ProgramBuilder::ints(const std::vector<std::int64_t>& numbers) {
  pte::IntList list;
  for (const std::int64_t number : numbers) list.items.push_back(value(number));
  return value(std::move(list));
}

pte::ValueIndex ProgramBuilder::input(pte::ValueIndex index) {
  plan().inputs.push_back(index);
  return index;
}

pte::ValueIndex ProgramBuilder::output(pte::ValueIndex index) {
  plan().outputs.push_back(index);
  return index;
}

void ProgramBuilder::call(const std::string& name, std::vector<pte::ValueIndex> args) {
  const std::size_t dot = std::min(name.rfind('.'), name.size());
  const pte::Operator op{name.substr(0, dot), dot == name.size() ? "" : name.substr(dot + 1)};
  auto& operators = plan().operators;
  const auto found = std::ranges::find(operators, op);
  const auto index = static_cast<std::uint32_t>(found - operators.begin());
  if (found == operators.end()) operators.push_back(op);
  add(pte::KernelCall{index, std::move(args)});
}

void ProgramBuilder::call_delegate(const xnn::Graph& graph, std::vector<pte::ValueIndex> args) {
  plan().delegates.push_back({"XnnpackBackend", blob_of(graph), {}});
  add(pte::DelegateCall{static_cast<std::uint32_t>(plan().delegates.size() - 1), std::move(args)});
}

void ProgramBuilder::add(pte::Instruction instruction) {
  plan().chains.front().instructions.push_back(std::move(instruction));
}

Blob ProgramBuilder::file() const {
  auto bytes = pte::write_program(program);
  if (!bytes) throw std::runtime_error(bytes.error().text());
  return Blob::owning_block(*std::move(bytes));
}

ProgramBuilder plus_one() {
  ProgramBuilder builder;
  const auto x = builder.input(builder.tensor({3}));
  Tensor one(DType::kF32, {});
  one.mutable_data<float>()[0] = 1;
  const auto constant = builder.constant(one);
  const auto y = builder.output(builder.tensor({3}));
  const auto alpha = builder.value(std::int64_t{1});
  builder.call("aten::add.out", {x, constant, alpha, y, y});
  return builder;
}

std::uint32_t GraphBuilder::value(std::vector<std::uint32_t> dims, xnn::DataType datatype, xnn::Quant quant,
                                  xnn::Role role) {
  xnn::Value value{datatype, std::move(dims), 0, xnn::kNone, role, std::move(quant)};
  if (role != xnn::Role::kInternal) value.external_id = graph.external_count++;
  graph.values.push_back(std::move(value));
  return static_cast<std::uint32_t>(graph.values.size() - 1);
}
std::uint32_t GraphBuilder::input(std::vector<std::uint32_t> dims, xnn::DataType datatype, xnn::Quant quant) {
  return value(std::move(dims), datatype, std::move(quant), xnn::Role::kInput);
}
std::uint32_t GraphBuilder::output(std::vector<std::uint32_t> dims, xnn::DataType datatype, xnn::Quant quant) {
  return value(std::move(dims), datatype, std::move(quant), xnn::Role::kOutput);
}
std::uint32_t GraphBuilder::internal(std::vector<std::uint32_t> dims, xnn::DataType datatype, xnn::Quant quant) {
  return value(std::move(dims), datatype, std::move(quant), xnn::Role::kInternal);
}

std::uint32_t GraphBuilder::constant(std::vector<std::uint32_t> dims, std::vector<std::byte> bytes,
                                     xnn::DataType datatype, xnn::Quant quant) {
  const std::uint32_t index = internal(std::move(dims), datatype, std::move(quant));
  if (graph.constants.empty()) graph.constants.emplace_back();
  graph.values[index].data = static_cast<std::uint32_t>(graph.constants.size());
  graph.constants.push_back({std::nullopt, bytes.size(), Blob::owning(std::move(bytes))});
  return index;
}
std::uint32_t GraphBuilder::floats(std::vector<std::uint32_t> dims, const std::vector<float>& numbers) {
  return constant(std::move(dims), copied(std::as_bytes(std::span(numbers))));
}

xnn::Node& GraphBuilder::node(xnn::NodeKind kind, std::vector<std::uint32_t> inputs, std::vector<std::uint32_t> outputs,
                              xnn::Fields fields) {
  return graph.nodes.emplace_back(xnn::Node{kind, std::move(inputs), std::move(outputs), std::move(fields), 0, {}, 0});
}

std::vector<xnn::NodeKind> node_kinds() {
  return {
#define XNN_NODE(enumerator, ...) xnn::NodeKind::enumerator,
#include "formats/executorch/xnn_nodes.def"
#undef XNN_NODE
  };
}

xnn::Graph one_node(xnn::NodeKind kind) {
  GraphBuilder b;
  const auto numbers = [](std::size_t count) {
    std::vector<float> result(count);
    for (std::size_t i = 0; i < count; ++i) result[i] = 0.25f * static_cast<float>(i % 7) - 0.5f;
    return result;
  };
  switch (xnn::form_of(kind)) {
    case xnn::Form::kUnary:
    case xnn::Form::kLeakyRelu:
    case xnn::Form::kElu: {
      const bool is_global_pool = kind == xnn::NodeKind::kGlobalAvgPool2d;
      const auto in = b.input({2, 3, 4, 5});
      const auto out =
          b.output(is_global_pool ? std::vector<std::uint32_t>{2, 1, 1, 5} : std::vector<std::uint32_t>{2, 3, 4, 5},
                   kind == xnn::NodeKind::kConvert ? xnn::DataType::kQI8 : xnn::DataType::kF32,
                   kind == xnn::NodeKind::kConvert ? xnn::Quant(xnn::PerTensor{0.03125f, 3}) : xnn::Quant());
      xnn::Node& node = b.node(kind, {in}, {out});
      if (kind == xnn::NodeKind::kClamp) node.bounds = xnn::Bounds{-0.25f, 0.5f};
      if (is_global_pool) node.flags = 0x40;
      if (xnn::form_of(kind) != xnn::Form::kUnary) node.fields = xnn::SlopeFields{0.125f};
      break;
    }
    case xnn::Form::kBinary: {
      const bool is_matmul = kind == xnn::NodeKind::kBatchMatmul;
      const auto left = b.input({2, 3, 4});
      const auto right = b.input(is_matmul ? std::vector<std::uint32_t>{2, 4, 5} : std::vector<std::uint32_t>{3, 1});
      const auto out = b.output(is_matmul ? std::vector<std::uint32_t>{2, 3, 5} : std::vector<std::uint32_t>{2, 3, 4});
      b.node(kind, {left, right}, {out});
      break;
    }
    case xnn::Form::kConcat: {
      std::vector<std::uint32_t> inputs;
      for (std::size_t i = 0; i < xnn::input_count(kind); ++i) {
        inputs.push_back(b.input({2, static_cast<std::uint32_t>(i + 1), 3}));
      }
      const auto count = static_cast<std::uint32_t>(inputs.size());
      b.node(kind, inputs, {b.output({2, count * (count + 1) / 2, 3})}, xnn::ConcatFields{1});
      break;
    }
    case xnn::Form::kFullyConnected: {
      const auto in = b.input({2, 3, 4});
      const auto filter = b.floats({5, 4}, numbers(20));
      const auto bias = b.floats({5}, numbers(5));
      b.node(kind, {in, filter, bias}, {b.output({2, 3, 5})});
      break;
    }
    case xnn::Form::kConv: {
      const bool is_depthwise = kind == xnn::NodeKind::kDepthwiseConv2d;
      const bool is_transposed = kind == xnn::NodeKind::kConvTranspose2d;
      xnn::ConvFields fields{1,
                             1,
                             1,
                             1,
                             3,
                             3,
                             2,
                             2,
                             1,
                             1,
                             is_depthwise ? 1u : 3u,
                             is_depthwise ? 2u : 4u,
                             is_depthwise ? 3u : 1u,
                             is_transposed ? 1u : 0u,
                             is_transposed ? 1u : 0u};
      const std::uint32_t channels = fields.groups * fields.group_output_channels;
      const auto in = b.input({2, 6, 8, 3});
      const auto filter = is_depthwise ? b.floats({1, 3, 3, channels}, numbers(9 * channels))
                                       : b.floats({channels, 3, 3, 3}, numbers(27 * channels));
      const auto out = is_transposed ? b.output({2, 12, 16, channels}) : b.output({2, 3, 4, channels});
      b.node(kind, {in, filter, b.floats({channels}, numbers(channels))}, {out}, fields);
      break;
    }
    case xnn::Form::kPool: {
      const auto in = b.input({2, 6, 8, 3});
      b.node(kind, {in}, {b.output({2, 3, 4, 3})}, xnn::PoolFields{0, 0, 0, 0, 2, 2, 2, 2, 1, 1});
      break;
    }
    case xnn::Form::kArgMaxPool: {
      const auto in = b.input({2, 6, 8, 3});
      const auto out = b.output({2, 3, 4, 3});
      const auto places = b.output({2, 3, 4, 3}, xnn::DataType::kI32);
      b.node(kind, {in}, {out, places}, xnn::PoolFields{0, 0, 0, 0, 2, 2, 1, 1, 1, 1});
      break;
    }
    case xnn::Form::kTranspose: {
      const auto in = b.input({2, 3, 4});
      b.node(kind, {in}, {b.output({4, 2, 3})}, xnn::TransposeFields{{2, 0, 1}});
      break;
    }
    case xnn::Form::kReshape: {
      const auto in = b.input({2, 3, 4});
      b.node(kind, {in}, {b.output({2, 12})}, xnn::ReshapeFields{{0, 12}});
      break;
    }
    case xnn::Form::kSlice: {
      const auto in = b.input({2, 3, 4});
      b.node(kind, {in}, {b.output({2, 2, 3})}, xnn::SliceFields{{0, 1, 1}, {0, 2, 3}});
      break;
    }
    case xnn::Form::kPad: {
      const auto in = b.input({2, 3, 4});
      b.node(kind, {in}, {b.output({2, 6, 5})}, xnn::PadFields{{0, 1, 0}, {0, 2, 1}, 0.5f});
      break;
    }
    case xnn::Form::kResizeBilinear: {
      const auto in = b.input({2, 3, 4, 5});
      b.node(kind, {in}, {b.output({2, 6, 8, 5})}, xnn::ResizeFields{6, 8});
      break;
    }
    case xnn::Form::kDead:
      CHECK(false, "XNNPACK has no such node");
  }
  return b.graph;
}

Blob blob_of(const xnn::Graph& graph) {
  auto bytes = xnn::write_blob(graph);
  if (!bytes) throw std::runtime_error(bytes.error().text());
  return Blob::owning(*std::move(bytes));
}

Blob replaced(const Blob& file, const std::string& from, const std::string& to) {
  std::string text(file.text());
  const std::size_t at = text.find(from);
  if (at == std::string::npos || text.find(from, at + 1) != std::string::npos || from.size() != to.size()) {
    throw std::runtime_error("what a test replaces must occur once");
  }
  text.replace(at, from.size(), to);
  return Blob::owning(copied(std::as_bytes(std::span(text))));
}

}  // namespace isthmus::test
