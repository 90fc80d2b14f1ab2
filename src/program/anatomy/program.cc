// Walks over the instructions of a plan, and into its delegates.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "formats/executorch/xnn_blob.h"
#include "program/anatomy/anatomy.h"
#include "program/anatomy/fields.h"
#include "targets/host/kernel.h"

namespace isthmus::anatomy {
namespace {

constexpr std::size_t kMaxNodes = 1 << 20;  // many calls may share one small delegate

// What stands in the place of an instruction.
struct Place {
  std::size_t chain = 0;
  std::size_t instruction = 0;
};

class Taker {
 public:
  Taker(const pte::Program& program, const pte::Plan& plan) : program_(program), plan_(plan) {
    for (const pte::NamedData& data : program.named_data) named_data_.emplace(data.key, &data.bytes);
    current_.resize(plan.values.size());
  }

  Expected<Graph> run() {
    for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
      if (!is_tensor(plan_.inputs[i])) continue;
      result_.inputs.push_back(write(plan_.inputs[i], {}, fmt::format("input_{}", i)));
    }
    for (std::size_t i = 0; i < plan_.chains.size(); ++i) {
      for (std::size_t j = 0; j < plan_.chains[i].instructions.size(); ++j) {
        const Place place{i, j};
        TRY(within(std::visit([&](const auto& call) { return add(call, place); }, plan_.chains[i].instructions[j]),
                   [&] { return fmt::format("instruction {}", j); }));
        if (result_.nodes.size() > kMaxNodes) return bad_input(fmt::format("more than {} operators", kMaxNodes));
      }
    }
    for (const pte::ValueIndex output : plan_.outputs) {
      if (is_tensor(output)) result_.outputs.push_back(read(output));
    }
    spread_parameters();
    return std::move(result_);
  }

 private:
  using Spot = std::pair<std::uint32_t, std::uint64_t>;  // memory and offset

  const pte::Tensor* tensor(pte::ValueIndex value) const { return std::get_if<pte::Tensor>(&plan_.values[value]); }
  bool is_tensor(pte::ValueIndex value) const { return tensor(value) != nullptr; }
  static std::optional<Spot> spot_of(const pte::Tensor& tensor) {
    if (!tensor.allocation) return std::nullopt;
    return Spot(tensor.allocation->memory_id, tensor.allocation->offset);
  }

  std::uint32_t add_value(pte::ValueIndex index, const std::optional<Event>& event, std::string name) {
    const pte::Tensor& of = *tensor(index);
    Value value{.name = std::move(name),
                .dtype = std::string(name_of(of.dtype)),
                .sizes = {},
                .quant = {},
                .data = {},
                .is_constant = of.is_constant(),
                .event = event};
    for (const std::uint8_t axis : of.dim_order) value.sizes.push_back(of.sizes[axis]);
    if (value.is_constant) value.data = program_.constants[of.data_index];
    result_.values.push_back(std::move(value));
    return static_cast<std::uint32_t>(result_.values.size() - 1);
  }

  // What a tensor holds now. A view has no instruction: it is another tensor in the same memory.
  std::uint32_t read(pte::ValueIndex index) {
    const auto spot = spot_of(*tensor(index));
    if (spot) {
      if (const auto found = written_.find(*spot); found != written_.end()) return found->second;
    }
    if (!current_[index]) current_[index] = add_value(index, {}, fmt::format("value {}", index));
    return *current_[index];
  }
  std::uint32_t write(pte::ValueIndex index, const std::optional<Event>& event, std::string name) {
    return keep(index, add_value(index, event, std::move(name)));
  }
  std::uint32_t keep(pte::ValueIndex index, std::uint32_t value) {
    current_[index] = value;
    if (const auto spot = spot_of(*tensor(index))) written_[*spot] = value;
    return value;
  }

  // The tensors among some arguments, those in lists too.
  std::vector<pte::ValueIndex> tensors(std::span<const pte::ValueIndex> args) const {
    std::vector<pte::ValueIndex> result;
    for (const pte::ValueIndex arg : args) {
      if (is_tensor(arg)) result.push_back(arg);
      if (const auto* list = std::get_if<pte::TensorList>(&plan_.values[arg])) {
        std::ranges::copy_if(list->items, std::back_inserter(result), [&](auto item) { return is_tensor(item); });
      }
      if (const auto* list = std::get_if<pte::OptionalTensorList>(&plan_.values[arg])) {
        for (const auto& item : list->items) {
          if (item && is_tensor(*item)) result.push_back(*item);
        }
      }
    }
    return result;
  }

  // The numbers and words among some arguments.
  std::string fields_of(std::span<const pte::ValueIndex> args) const {
    std::string text;
    const auto add_word = [&](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
    for (const pte::ValueIndex arg : args) {
      const pte::Value& value = plan_.values[arg];
      if (const auto* integer = std::get_if<std::int64_t>(&value)) add_word(fmt::format("{}", *integer));
      if (const auto* number = std::get_if<double>(&value)) add_word(fmt::format("{}", *number));
      if (const auto* boolean = std::get_if<bool>(&value)) add_word(*boolean ? "true" : "false");
      if (const auto* word = std::get_if<std::string>(&value)) add_word(*word);
      if (const auto* list = std::get_if<pte::IntList>(&value)) {
        std::string items;
        for (const pte::ValueIndex item : list->items) {
          const auto* number = std::get_if<std::int64_t>(&plan_.values[item]);
          items += (items.empty() ? "" : ",") + (number != nullptr ? std::to_string(*number) : std::string("?"));
        }
        add_word("[" + items + "]");
      }
    }
    return text;
  }

  // Scale and zero point that a call of quantize or dequantize names.
  std::optional<Quant> parameters_in(std::span<const pte::ValueIndex> args) const {
    if (args.size() < 3) return std::nullopt;
    const auto* scale = std::get_if<double>(&plan_.values[args[1]]);
    const auto* zero_point = std::get_if<std::int64_t>(&plan_.values[args[2]]);
    if (scale == nullptr || zero_point == nullptr) return std::nullopt;
    return Quant{{static_cast<float>(*scale)}, static_cast<std::int32_t>(*zero_point), -1};
  }

  Expected<void> add(const pte::KernelCall& call, const Place& place) {
    const std::string name = host::full_name(plan_.operators[call.operator_index]);
    const host::Kernel* kernel = host::find_kernel(name);
    std::span<const pte::ValueIndex> args = call.args;
    std::span<const pte::ValueIndex> outs;
    if (kernel != nullptr && args.size() == kernel->arity()) {
      outs = kernel->writes_first ? args.first(1) : args.subspan(kernel->arguments.size(), kernel->outs);
      args = args.first(kernel->arguments.size());
    } else if (args.size() >= 2) {  // every kernel repeats its out, or lists its outs
      const auto* list = std::get_if<pte::TensorList>(&plan_.values[args.back()]);
      const std::size_t count = std::min(list == nullptr ? 1 : list->items.size(), args.size() - 1);
      outs = args.subspan(args.size() - 1 - count, count);
      args = args.first(args.size() - 1 - count);
    }
    Node node{.op = name,
              .fields = fields_of(args),
              .delegate = {},
              .number = place.instruction,
              .inputs = {},
              .outputs = {},
              .origin = {}};
    for (const pte::ValueIndex input : tensors(args)) node.inputs.push_back(read(input));
    const std::vector<pte::ValueIndex> written = tensors(outs);
    for (std::uint32_t i = 0; i < written.size(); ++i) {
      node.outputs.push_back(write(written[i], Event{place.chain, place.instruction, i}, result_name(written[i])));
    }
    const host::IoRole role = kernel == nullptr ? host::IoRole::kNone : kernel->io_role;
    const auto quant = parameters_in(call.args);
    if (role == host::IoRole::kQuantizes && !node.outputs.empty()) result_.values[node.outputs[0]].quant = quant;
    if (role == host::IoRole::kDequantizes && !node.inputs.empty()) set_parameters(node.inputs[0], quant);
    result_.nodes.push_back(std::move(node));
    return {};
  }

  std::string result_name(pte::ValueIndex index) const {
    const auto output = std::ranges::find(plan_.outputs, index);
    if (output != plan_.outputs.end()) return fmt::format("output_{}", output - plan_.outputs.begin());
    return fmt::format("value {}", index);
  }

  void set_parameters(std::uint32_t value, const std::optional<Quant>& quant) {
    if (!result_.values[value].quant) result_.values[value].quant = quant;
  }

  Expected<void> add(const pte::DelegateCall& call, const Place& place) {
    const pte::Delegate& delegate = plan_.delegates[call.delegate_index];
    if (delegate.id == xnn::kBackendId) return add_xnnpack(delegate, call, place);
    if (delegate.id == tosa::kBackendId) return add_tosa(delegate, call, place);
    Node node{.op = delegate.id,
              .fields = {},
              .delegate = call.delegate_index,
              .number = 0,
              .inputs = {},
              .outputs = {},
              .origin = {}};
    std::uint32_t outs = 0;
    std::set<pte::ValueIndex> seen;
    for (const pte::ValueIndex arg : call.args) {
      if (!is_tensor(arg) || !seen.insert(arg).second) continue;
      // Inputs come first, and have been written.
      const bool is_known = current_[arg].has_value() || tensor(arg)->is_constant() || tensor(arg)->is_state();
      if (is_known && outs == 0) {
        node.inputs.push_back(read(arg));
      } else {
        node.outputs.push_back(write(arg, Event{place.chain, place.instruction, outs++}, result_name(arg)));
      }
    }
    result_.nodes.push_back(std::move(node));
    return {};
  }

  // An argument of a delegate: what it holds now, or what the delegate will write there.
  Expected<pte::ValueIndex> argument(const pte::DelegateCall& call, std::size_t at) const {
    if (at >= call.args.size() || !is_tensor(call.args[at])) {
      return bad_input(fmt::format("argument {} of delegate {} is not a tensor", at, call.delegate_index));
    }
    return call.args[at];
  }

  Expected<void> add_xnnpack(const pte::Delegate& delegate, const pte::DelegateCall& call, const Place& place) {
    const auto name = [&] { return fmt::format("delegate {}", call.delegate_index); };
    const xnn::Graph graph = TRY(within(xnn::read_blob(delegate.blob), name));
    std::vector<std::uint32_t> values(graph.values.size());
    for (std::uint32_t i = 0; i < graph.values.size(); ++i) {
      const xnn::Value& value = graph.values[i];
      const std::optional<Quant> quant = quant_of(graph, value);
      if (value.role == xnn::Role::kInput) {
        values[i] = read(TRY(argument(call, value.external_id)));
        set_parameters(values[i], quant);
        continue;
      }
      Value row{.name = fmt::format("delegate {} value {}", call.delegate_index, i),
                .dtype = std::string(xnn::name_of(value.datatype)),
                .sizes = {value.dims.begin(), value.dims.end()},
                .quant = quant,
                .data = {},
                .is_constant = value.data != 0,
                .event = Event{place.chain, place.instruction, i}};
      if (value.data != 0) row.data = bytes_of(graph.constants[value.data]);
      if (value.role == xnn::Role::kOutput) row.name = result_name(TRY(argument(call, value.external_id)));
      values[i] = static_cast<std::uint32_t>(result_.values.size());
      result_.values.push_back(std::move(row));
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const xnn::Node& node = graph.nodes[i];
      Node row{.op = std::string(name_of(node.kind)),
               .fields = fields_text(node),
               .delegate = call.delegate_index,
               .number = i,
               .inputs = {},
               .outputs = {},
               .origin = {},
               .debug_handle = node.debug_handle};
      for (const std::uint32_t input : node.inputs) {
        if (input != xnn::kNone) row.inputs.push_back(values[input]);
      }
      for (const std::uint32_t output : node.outputs) {
        if (output != xnn::kNone) row.outputs.push_back(values[output]);
      }
      result_.nodes.push_back(std::move(row));
    }
    for (std::uint32_t i = 0; i < graph.values.size(); ++i) {
      if (graph.values[i].role != xnn::Role::kOutput) continue;
      keep(call.args[graph.values[i].external_id], values[i]);
    }
    return {};
  }

  Expected<void> add_tosa(const pte::Delegate& delegate, const pte::DelegateCall& call, const Place& place) {
    const auto name = [&] { return fmt::format("delegate {}", call.delegate_index); };
    const tosa::Graph graph = TRY(within(tosa::read_graph(delegate.blob), name));
    const Graph inside = take_apart(graph);
    std::vector<std::uint32_t> values(inside.values.size());
    std::vector<bool> is_set(inside.values.size());
    for (std::size_t i = 0; i < inside.inputs.size(); ++i) {
      values[inside.inputs[i]] = read(TRY(argument(call, i)));
      is_set[inside.inputs[i]] = true;
    }
    for (std::uint32_t i = 0; i < values.size(); ++i) {
      if (is_set[i]) continue;
      values[i] = static_cast<std::uint32_t>(result_.values.size());
      result_.values.push_back(inside.values[i]);
      result_.values.back().event = Event{place.chain, place.instruction, i};
    }
    for (Node node : inside.nodes) {
      node.delegate = call.delegate_index;
      for (std::uint32_t& input : node.inputs) input = values[input];
      for (std::uint32_t& output : node.outputs) output = values[output];
      result_.nodes.push_back(std::move(node));
    }
    for (std::size_t i = 0; i < inside.outputs.size(); ++i) {
      keep(TRY(argument(call, inside.inputs.size() + i)), values[inside.outputs[i]]);
    }
    return {};
  }

  Expected<void> add(const pte::MoveCall& call, const Place&) {
    if (is_tensor(call.from) && is_tensor(call.to)) keep(call.to, read(call.from));
    return {};
  }
  Expected<void> add(const pte::JumpFalseCall&, const Place&) { return {}; }
  Expected<void> add(const pte::FreeCall&, const Place&) { return {}; }

  std::optional<Blob> bytes_of(const xnn::Constant& constant) const {
    if (!constant.key) return constant.bytes;
    const auto found = named_data_.find(*constant.key);
    return found == named_data_.end() ? std::nullopt : std::optional(*found->second);
  }

  // Scales may stand in the named data.
  std::optional<Quant> quant_of(const xnn::Graph& graph, const xnn::Value& value) const {
    if (const auto* one = std::get_if<xnn::PerTensor>(&value.quant)) return Quant{{one->scale}, one->zero_point, -1};
    const auto* each = std::get_if<xnn::PerChannel>(&value.quant);
    if (each == nullptr) return std::nullopt;
    std::vector<float> scales = each->scales;
    if (each->scale_data != 0) {
      const auto bytes = bytes_of(graph.constants[each->scale_data]);
      if (!bytes || bytes->size() < each->scale_count * sizeof(float)) return std::nullopt;
      scales.resize(each->scale_count);
      std::memcpy(scales.data(), bytes->bytes().data(), scales.size() * sizeof(float));
    }
    if (scales.empty()) return std::nullopt;
    return Quant{std::move(scales), 0, static_cast<std::int32_t>(each->axis)};
  }

  // Calls on the host that only move integers say nothing of what these stand for: it is what they stand for in front
  // of the call or behind it.
  void spread_parameters() {
    const auto share = [&](const Node& node, bool is_forward) {
      if (node.delegate || node.inputs.size() != 1 || node.outputs.size() != 1) return;
      Value& in = result_.values[node.inputs[0]];
      Value& out = result_.values[node.outputs[0]];
      if (in.dtype != out.dtype || (in.dtype != "i8" && in.dtype != "u8" && in.dtype != "i16")) return;
      if (is_forward && !out.quant) out.quant = in.quant;
      if (!is_forward && !in.quant) in.quant = out.quant;
    };
    for (const Node& node : result_.nodes) share(node, true);
    for (std::size_t i = result_.nodes.size(); i-- > 0;) share(result_.nodes[i], false);
  }

  const pte::Program& program_;
  const pte::Plan& plan_;
  Graph result_;
  std::unordered_map<std::string, const Blob*> named_data_;
  std::vector<std::optional<std::uint32_t>> current_;  // by value of the plan: what was written to it last
  std::map<Spot, std::uint32_t> written_;              // what was written there last
};

}  // namespace

Expected<Graph> take_apart(const pte::Program& program, const pte::Plan& plan) { return Taker(program, plan).run(); }

}  // namespace isthmus::anatomy
