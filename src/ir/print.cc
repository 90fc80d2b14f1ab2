// Prints a graph.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/untrusted_text.h"
#include "ir/attrs_text.h"
#include "ir/literals.h"
#include "ir/text.h"

namespace isthmus {
namespace {

class Printer {
 public:
  Printer(const Graph& graph, TextOptions options) : graph_(graph), options_(options) {
    if (!options_.with_names) number_values();
  }

  std::string whole() {
    out_ = "graph\n";
    for (const Symbol& symbol : graph_.exprs().symbols()) print_symbol(symbol);
    for (const ValueId input : graph_.inputs()) append("  input {} : {}\n", name(input), type(input));
    for (const GraphState& state : graph_.states()) print_constant("state", state.value, state.initial);
    for (std::uint32_t i = 0; i < graph_.values().size(); ++i) {
      if (const Constant* constant = graph_.constant(ValueId{i})) print_constant("const", ValueId{i}, *constant);
    }
    for (const Node& node : graph_.nodes()) print_node(node);
    print_outputs();
    print_quants();
    return std::move(out_);
  }

  // The inputs of a foreign node are written where its arguments mention them.
  std::string arg(const ArgValue& arg_value, std::span<const ValueId>& inputs) const {
    struct Visitor {
      const Printer& printer;
      std::span<const ValueId>& inputs;
      std::string operator()(const NoneArg&) const { return "none"; }
      std::string operator()(const TensorArg&) const {
        if (inputs.empty()) return "tensor";
        const ValueId next = inputs.front();
        inputs = inputs.subspan(1);
        return printer.name(next);
      }
      std::string operator()(const Dim& dim) const { return printer.graph_.exprs().text(dim); }
      std::string operator()(double number) const { return float_text(number); }
      std::string operator()(bool boolean) const { return boolean ? "true" : "false"; }
      std::string operator()(const std::string& text) const { return in_quotes(text); }
      std::string operator()(DType dtype) const { return std::string(name_of(dtype)); }
      std::string operator()(const WordArg& word) const { return in_quotes(word.word, '\''); }
      std::string operator()(const std::complex<double>& number) const {
        return fmt::format("complex({},{})", float_text(number.real()), float_text(number.imag()));
      }
      std::string operator()(const std::vector<ArgValue>& list) const {
        std::string text = "[";
        for (const ArgValue& item : list) text += (text.size() > 1 ? "," : "") + printer.arg(item, inputs);
        return text + "]";
      }
    };
    return std::visit(Visitor{*this, inputs}, arg_value.value);
  }

  std::string attributes(const Node& node) {
    std::visit([&](const auto& attrs) { print_fields(attrs); }, node.attrs);
    return out_.empty() ? out_ : out_.substr(1);
  }

 private:
  template <class... Parts>
  void append(fmt::format_string<Parts...> format, Parts&&... parts) {
    // Not fmt::format_to: all of its number formatting would be compiled here again.
    out_ += fmt::format(format, std::forward<Parts>(parts)...);
  }

  std::string name(ValueId id) const {
    return options_.with_names ? "%" + graph_[id].name : fmt::format("%{}", numbers_[id.index]);
  }
  // In the order in which they are printed: inputs, states, constants, results.
  void number_values() {
    numbers_.resize(graph_.values().size());
    std::size_t next = 0;
    for (const ValueKind kind : {ValueKind::kInput, ValueKind::kState, ValueKind::kConstant, ValueKind::kResult}) {
      for (std::size_t i = 0; i < numbers_.size(); ++i) {
        if (graph_.values()[i].kind == kind) numbers_[i] = next++;
      }
    }
  }
  // Parameters are written once, behind the graph; a type names them.
  std::string type(ValueId id) {
    const TensorType& type = graph_.type(id);
    std::string text = type_text(graph_, type);
    if (!type.quant) return text;
    const auto key = std::pair(type.quant->scale(), type.quant->zero_point);
    const auto [first, last] = by_scale_.equal_range(key);
    auto found = std::find_if(first, last, [&](const auto& entry) {
      const Parameters& row = quants_[entry.second];
      return row.dtype == type.dtype && *row.quant == *type.quant;
    });
    if (found == last) {
      found = by_scale_.emplace(key, quants_.size());
      quants_.push_back({type.dtype, &*type.quant, {}});
    }
    quants_[found->second].members += " " + name(id);
    return fmt::format("{} @q{}", text, found->second);
  }

  void print_quants() {
    if (quants_.empty()) return;
    out_ += "quant\n";
    for (std::size_t i = 0; i < quants_.size(); ++i) {
      const Quant& quant = *quants_[i].quant;
      append("  @q{} {}", i, name_of(quants_[i].dtype));
      if (quant.axis >= 0) append(" axis={}", quant.axis);
      out_ += quant.axis >= 0 ? " scale=[" : " scale=";
      for (std::size_t k = 0; k < quant.scales.size(); ++k) {
        append("{}{}", k == 0 ? "" : ",", float_text(quant.scales[k]));
      }
      if (quant.axis >= 0) out_ += ']';
      if (quant.zero_point != 0) append(" zp={}", quant.zero_point);
      append(" {{{}}}\n", quants_[i].members.substr(1));
    }
  }

  void print_symbol(const Symbol& symbol) {
    const auto number = [](const std::optional<std::int64_t>& n) { return n ? std::to_string(*n) : std::string(); };
    append("  symbol {} in [{},{}]", symbol.name, number(symbol.min), number(symbol.max));
    if (symbol.hint) append(" ~{}", *symbol.hint);
    out_ += '\n';
  }

  void print_constant(std::string_view kind, ValueId id, const Constant& constant) {
    append("  {} {} : {}", kind, name(id), type(id));
    std::string elements = constant.data ? inline_text(*constant.data) : std::string();
    if (elements.empty()) {
      append(" #{:016x}", constant.content_hash());
    } else {
      append(" = {}", elements);
    }
    if (options_.with_origins && !constant.fqn.empty()) append(" {}", in_quotes(constant.fqn));
    out_ += '\n';
  }

  void print_node(const Node& node) {
    out_ += "  ";
    for (const ValueId output : node.outputs) append("{}{}", output == node.outputs.front() ? "" : ", ", name(output));
    if (!node.outputs.empty()) out_ += " = ";
    append("{}(", name_of(node.op));
    std::visit([&](const auto& attrs) { print_arguments(node, attrs); }, node.attrs);
    if (node.in_float) out_ += " !float";
    for (const ValueId output : node.outputs)
      append("{}{}", output == node.outputs.front() ? " : " : ", ", type(output));
    if (!options_.notes.empty()) out_ += options_.notes[static_cast<std::size_t>(&node - graph_.nodes().data())];
    if (options_.with_origins && !node.origin.empty()) append("  # {}", origin_text(node.origin));
    out_ += '\n';
  }

  void print_arguments(const Node& node, const ForeignAttrs& attrs) {
    append("{}", in_quotes(attrs.target));
    std::span<const ValueId> inputs = node.inputs;
    for (const Arg& argument : attrs.args) {
      append(", {}{}{}", argument.name, argument.name.empty() ? "" : "=", arg(argument.value, inputs));
    }
    out_ += ')';
  }

  template <class Fields>
  void print_arguments(const Node& node, const Fields& attrs) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) append("{}{}", i == 0 ? "" : ", ", name(node.inputs[i]));
    out_ += ')';
    print_fields(attrs);
  }

  // Each behind a blank.
  void print_fields(const ForeignAttrs& attrs) {
    for (const Arg& argument : attrs.args) {
      append(" {}{}{}", argument.name, argument.name.empty() ? "" : "=", arg_text(graph_, argument.value));
    }
  }
  template <class Fields>
  void print_fields(const Fields& attrs) {
    const Fields defaults{};
    const auto print_field = [&](const auto& field) {
      if (attrs.*field.member == defaults.*field.member) return;
      append(" {}=", field.name);
      print_attr(attrs.*field.member);
    };
    std::apply([&](const auto&... field) { (print_field(field), ...); }, Fields::fields());
  }

  void print_attr(std::int64_t number) { append("{}", number); }
  void print_attr(double number) { out_ += float_text(number); }
  void print_attr(bool boolean) { out_ += boolean ? "true" : "false"; }
  void print_attr(Dim dim) { out_ += graph_.exprs().text(dim); }
  void print_attr(DType dtype) { out_ += name_of(dtype); }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void print_attr(Enum word) { out_ += words(word)[static_cast<std::size_t>(word)]; }
  template <class Item>
  void print_attr(const std::vector<Item>& items) {
    out_ += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += ',';
      print_attr(items[i]);
    }
    out_ += ']';
  }

  std::string leaf(const Output& output) const {
    if (const auto* id = std::get_if<ValueId>(&output.value)) return name(*id);
    std::span<const ValueId> none;
    return arg(std::get<ArgValue>(output.value), none);
  }

  void print_outputs() {
    for (const Output& output : graph_.outputs()) {
      if (output.kind == OutputKind::kMutation) append("  mutate {} {}\n", in_quotes(output.target), leaf(output));
    }
    out_ += "  return";
    bool is_first = true;
    for (const Output& output : graph_.outputs()) {
      if (output.kind != OutputKind::kResult) continue;
      append("{} {}", is_first ? "" : ",", leaf(output));
      is_first = false;
    }
    out_ += '\n';
  }

  struct Parameters {
    DType dtype;
    const Quant* quant;
    std::string members;
  };

  const Graph& graph_;
  TextOptions options_;
  std::vector<std::size_t> numbers_;  // of the values, where they are printed without names
  std::vector<Parameters> quants_;
  std::multimap<std::pair<float, std::int32_t>, std::size_t> by_scale_;  // of quants_
  std::string out_;
};

}  // namespace

std::string print(const Graph& graph, const TextOptions& options) { return Printer(graph, options).whole(); }

std::string attributes_text(const Graph& graph, const Node& node) { return Printer(graph, {}).attributes(node); }

std::string arg_text(const Graph& graph, const ArgValue& value) {
  std::span<const ValueId> none;
  return Printer(graph, {}).arg(value, none);
}

}  // namespace isthmus
