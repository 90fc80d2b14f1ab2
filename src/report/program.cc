// Collects and prints the summary of a program file.
#include "report/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "base/counts.h"
#include "base/untrusted_text.h"
#include "formats/executorch/xnn_blob.h"
#include "formats/tosa/tosa.h"
#include "program/run/calls.h"
#include "targets/layout.h"

namespace isthmus {
namespace {

std::string kind_of(const pte::Value& value) {
  static constexpr std::string_view kKinds[] = {"none",      "int",         "bool",       "double",
                                                "string",    "tensor",      "int list",   "double list",
                                                "bool list", "tensor list", "tensor list"};
  static_assert(std::size(kKinds) == std::variant_size_v<pte::Value>);
  return std::string(kKinds[value.index()]);
}

std::vector<ProgramSummary::Tensor> tensors(const pte::Plan& plan, const std::vector<pte::ValueIndex>& indices,
                                            std::string_view prefix) {
  std::vector<ProgramSummary::Tensor> result;
  for (const pte::ValueIndex index : indices) {
    const std::string name = fmt::format("{}_{}", prefix, result.size());
    if (const auto* tensor = std::get_if<pte::Tensor>(&plan.values[index])) {
      result.push_back({name, std::string(name_of(tensor->dtype)), tensor->sizes, true,
                        tensor->dynamism != pte::Dynamism::kStatic, tensor->dim_order});
    } else {
      result.push_back({name, kind_of(plan.values[index]), {}, false, false});
    }
  }
  return result;
}

struct OperatorsInside {
  std::map<std::string, std::size_t> counts;
  std::size_t transposes = 0;
};

Expected<OperatorsInside> xnnpack_operators(const Blob& blob) {
  const xnn::Graph graph = TRY(xnn::read_blob(blob));
  OperatorsInside result;
  for (const xnn::Node& node : graph.nodes) {
    ++result.counts[std::string(name_of(node.kind))];
    if (node.kind == xnn::NodeKind::kTranspose) ++result.transposes;
  }
  return result;
}

Expected<OperatorsInside> tosa_operators(const Blob& blob) {
  const tosa::Graph graph = TRY(tosa::read_graph(blob));
  OperatorsInside result;
  for (const tosa::Operator& op : graph.operators) {
    if (op.inputs.empty()) continue;  // a constant
    ++result.counts[std::string(name_of(op.op))];
    if (op.op == tosa::Op::kTranspose) ++result.transposes;
  }
  return result;
}

// Nothing for backends whose bytes are not read here.
std::optional<Expected<OperatorsInside>> operators_in(const pte::Delegate& delegate) {
  if (delegate.id == xnn::kBackendId) return xnnpack_operators(delegate.blob);
  if (delegate.id == tosa::kBackendId) return tosa_operators(delegate.blob);
  return std::nullopt;
}

ProgramSummary::Delegate delegate(const pte::Delegate& delegate) {
  ProgramSummary::Delegate result;
  result.backend = delegate.id;
  result.bytes = delegate.blob.size();
  const auto inside = operators_in(delegate);
  if (!inside) return result;
  if (!*inside) {
    result.problem = inside->error().message;
    return result;
  }
  result.is_read = true;
  for (const auto& [name, count] : (*inside)->counts) result.nodes += count;
  result.transposes = (*inside)->transposes;
  result.ops = in_order((*inside)->counts);
  return result;
}

// Counts bytes of the file once, however many names they have.
class ByteCounter {
 public:
  void add(ProgramSummary::Data& data, const Blob& blob) {
    ++data.count;
    if (seen_.emplace(blob.bytes().data(), blob.size()).second) data.bytes += blob.size();
  }

 private:
  std::set<std::pair<const std::byte*, std::size_t>> seen_;
};

void count_instructions(ProgramSummary& summary, const pte::Plan& plan) {
  std::map<std::string, ProgramSummary::HostOp> host;
  for (const pte::Chain& chain : plan.chains) {
    summary.instructions += chain.instructions.size();
    for (const pte::Instruction& instruction : chain.instructions) {
      if (const auto* call = std::get_if<pte::DelegateCall>(&instruction)) {
        ++summary.delegates[call->delegate_index].calls;
      } else if (const auto* kernel_call = std::get_if<pte::KernelCall>(&instruction)) {
        const std::string name = run::kernel_of(plan, *kernel_call);
        ProgramSummary::HostOp& row = host.try_emplace(name, ProgramSummary::HostOp{name}).first->second;
        ++row.calls;
        if (run::is_io_call(plan, *kernel_call)) ++row.io_calls;
      }
    }
  }
  for (auto& [name, row] : host) summary.host.push_back(std::move(row));
  std::ranges::stable_sort(summary.host, std::greater<>(), &ProgramSummary::HostOp::calls);
}

std::string order_text(const std::vector<std::uint8_t>& order) {
  if (std::ranges::is_sorted(order)) return "";
  if (order == kChannelsLast) return "  nhwc in memory";
  return fmt::format("  axes {} in memory", fmt::join(order, ","));
}

std::string text_of(const ProgramSummary::Tensor& tensor) {
  if (!tensor.is_tensor) return fmt::format("{}  {}", tensor.name, tensor.dtype);
  return fmt::format("{}  {}[{}]{}{}", tensor.name, tensor.dtype, fmt::join(tensor.shape, ","),
                     tensor.is_dynamic ? "  at most" : "", order_text(tensor.dim_order));
}

std::string text_of(const ProgramSummary::Data& data) {
  return fmt::format("{} in {}", human_bytes(data.bytes), counted(data.count, "blob"));
}

// Everything but its number.
std::string text_of(const ProgramSummary::Delegate& delegate) {
  std::string text = fmt::format("{}  {}", delegate.backend, human_bytes(delegate.bytes));
  if (delegate.is_read) {
    text += fmt::format(", {}, {}", counted(delegate.nodes, "node"), counted(delegate.transposes, "transpose"));
  }
  if (delegate.calls != 1) text += ", " + counted(delegate.calls, "call");
  if (!delegate.problem.empty()) text += ", not readable: " + delegate.problem;
  return text;
}

}  // namespace

std::uint64_t ProgramSummary::memory_bytes() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t bytes_of_one : memory) {
    sum = add_sizes(sum, bytes_of_one).value_or(std::numeric_limits<std::uint64_t>::max());
  }
  return sum;
}
std::size_t ProgramSummary::host_calls() const {
  std::size_t calls = 0;
  for (const HostOp& op : host) calls += op.calls;
  return calls;
}
std::size_t ProgramSummary::io_calls() const {
  std::size_t calls = 0;
  for (const HostOp& op : host) calls += op.io_calls;
  return calls;
}
std::size_t ProgramSummary::transposes() const {
  std::size_t count = 0;
  for (const Delegate& delegate : delegates) count += delegate.transposes;
  return count;
}

namespace {

// Without a wish, whatever there is.
Expected<const pte::Plan*> wanted_plan(const std::string& file, const pte::Program& program,
                                       const std::optional<std::string>& method) {
  const pte::Plan* plan = pte::find_plan(program, method.value_or("forward"));
  if (plan == nullptr && !method) plan = &program.plans.front();
  if (plan == nullptr) return bad_input(fmt::format("{} has no method {}", file, shown(*method)));
  return plan;
}

}  // namespace

Expected<ProgramSummary> summarize_program(const std::string& file, const Blob& bytes,
                                           const std::optional<std::string>& method) {
  const pte::Program program = TRY(within(pte::read_program(bytes), file));
  return summarize(file, bytes.size(), program, *TRY(wanted_plan(file, program, method)));
}

Expected<anatomy::Graph> take_apart_program(const std::string& file, const Blob& bytes,
                                            const std::optional<std::string>& method) {
  const pte::Program program = TRY(within(pte::read_program(bytes), file));
  return within(anatomy::take_apart(program, *TRY(wanted_plan(file, program, method))), file);
}

ProgramSummary summarize(const std::string& file, std::uint64_t bytes, const pte::Program& program,
                         const pte::Plan& plan) {
  ProgramSummary summary;
  summary.file = file;
  summary.bytes = bytes;
  summary.method = plan.name;
  for (const pte::Plan& each : program.plans) summary.methods.push_back(each.name);
  summary.inputs = tensors(plan, plan.inputs, "input");
  summary.outputs = tensors(plan, plan.outputs, "output");
  for (std::size_t i = 0; i < summary.inputs.size(); ++i) {
    summary.inputs[i].params = find_io_params(program, pte::IoSide::kInput, i);
  }
  for (std::size_t i = 0; i < summary.outputs.size(); ++i) {
    summary.outputs[i].params = find_io_params(program, pte::IoSide::kOutput, i);
  }
  summary.states = states_of(plan);
  for (std::size_t id = 1; id < plan.buffer_sizes.size(); ++id) {
    summary.memory.push_back(static_cast<std::uint64_t>(plan.buffer_sizes[id]));
  }
  for (const pte::Delegate& each : plan.delegates) summary.delegates.push_back(delegate(each));
  count_instructions(summary, plan);
  std::map<std::string, std::size_t> ops;
  for (const ProgramSummary::Delegate& each : summary.delegates) {
    for (const auto& [name, count] : each.ops) ops[name] += count;
  }
  for (const ProgramSummary::HostOp& op : summary.host) ops[op.name] += op.calls;
  summary.ops = in_order(ops);
  ByteCounter counter;
  for (std::size_t i = 1; i < program.constants.size(); ++i) counter.add(summary.constants, program.constants[i]);
  for (std::size_t i = 1; i < program.initial_values.size(); ++i) {
    counter.add(summary.initial_values, program.initial_values[i]);
  }
  for (const pte::NamedData& data : program.named_data) counter.add(summary.named_data, data.bytes);
  summary.provenance = find_provenance(program);
  return summary;
}

std::string to_text(const ProgramSummary& summary, TextStyle style) {
  constexpr std::size_t kMaxDelegates = 8;
  Rows rows(style);
  rows.add("program", fmt::format("{}  ({})", summary.file, human_bytes(summary.bytes)));
  rows.add("method", fmt::format("{}, {}", summary.method, counted(summary.instructions, "instruction")));
  for (const std::string& other : summary.methods) {
    if (other != summary.method && !pte::is_io_method(other)) rows.add("", other + "  (--method shows it)");
  }
  const auto tensor_rows = [&](std::string_view label, const std::vector<ProgramSummary::Tensor>& group) {
    std::vector<std::string> texts;
    for (const ProgramSummary::Tensor& tensor : group) {
      std::string text = text_of(tensor);
      if (tensor.params)
        text += fmt::format("  scale {}, zero point {}", tensor.params->scale, tensor.params->zero_point);
      texts.push_back(std::move(text));
    }
    rows.add(label, texts);
  };
  tensor_rows("inputs", summary.inputs);
  tensor_rows("outputs", summary.outputs);
  std::vector<std::string> states;
  for (const StateRow& row : summary.states) states.push_back(to_text(row));
  if (!states.empty()) rows.add("state", states);
  rows.add("memory", fmt::format("{} in {}", human_bytes(summary.memory_bytes()),
                                 counted(summary.memory.size(), "planned buffer")));
  rows.add("constants", text_of(summary.constants));
  if (summary.initial_values.count != 0) rows.add("initial", text_of(summary.initial_values));
  rows.add("named data", text_of(summary.named_data));
  std::vector<std::string> delegates;
  for (std::size_t i = 0; i < std::min(summary.delegates.size(), kMaxDelegates); ++i) {
    delegates.push_back(fmt::format("{}  {}", i, text_of(summary.delegates[i])));
  }
  if (summary.delegates.size() > kMaxDelegates) {
    delegates.push_back(fmt::format("and {} more; --json shows each", summary.delegates.size() - kMaxDelegates));
  }
  rows.add("delegates",
           fmt::format("{}, {} inside", summary.delegates.size(), counted(summary.transposes(), "transpose")));
  rows.add("", delegates);
  rows.add("host", counted_host_calls(summary.host_calls(), summary.io_calls()));
  if (summary.provenance) {
    std::vector<std::string> facts;
    for (const auto& [key, value] : summary.provenance->facts) facts.push_back(fmt::format("{}: {}", key, value));
    std::string_view config = summary.provenance->config;
    while (!config.empty()) {
      const std::size_t end = std::min(config.find('\n'), config.size());
      if (end > 0) facts.push_back(fmt::format("config: {}", config.substr(0, end)));
      config.remove_prefix(std::min(end + 1, config.size()));
    }
    rows.add("made by", facts);
  }
  rows.add("operators", fmt::format("{} kinds, in delegates and on the host", summary.ops.size()));
  rows.add_bars(summary.ops);
  return rows.text();
}

}  // namespace isthmus
