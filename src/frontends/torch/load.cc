// Archive -> Graph.
#include "frontends/torch/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/untrusted_text.h"
#include "frontends/torch/inline_regions.h"
#include "frontends/torch/origin.h"
#include "frontends/torch/srepr.h"
#include "frontends/torch/states.h"
#include "ir/literals.h"
#include "ir/verify.h"

namespace isthmus {
namespace {

std::string_view word_for(pt2::MemoryFormat format) {
  switch (format) {
    case pt2::MemoryFormat::kUnknown:
      return "unknown";
    case pt2::MemoryFormat::kContiguous:
      return "contiguous";
    case pt2::MemoryFormat::kChannelsLast:
      return "channels_last";
    case pt2::MemoryFormat::kChannelsLast3d:
      return "channels_last_3d";
    case pt2::MemoryFormat::kPreserve:
      return "preserve";
  }
  return "unknown";
}

std::string_view word_for(pt2::Layout layout) {
  switch (layout) {
    case pt2::Layout::kUnknown:
      return "unknown";
    case pt2::Layout::kSparseCoo:
      return "sparse_coo";
    case pt2::Layout::kSparseCsr:
      return "sparse_csr";
    case pt2::Layout::kSparseCsc:
      return "sparse_csc";
    case pt2::Layout::kSparseBsr:
      return "sparse_bsr";
    case pt2::Layout::kSparseBsc:
      return "sparse_bsc";
    case pt2::Layout::kMkldnn:
      return "mkldnn";
    case pt2::Layout::kStrided:
      return "strided";
  }
  return "unknown";
}

class Loader {
 public:
  Loader(const pt2::Program& program, const pt2::Archive& archive, Diagnostics& diagnostics)
      : program_(program), archive_(archive), diagnostics_(diagnostics) {}

  Expected<Model> whole() {
    declare_symbols();
    TRY(load_inputs());
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      TRY(within(load_node(program_.nodes[i]), [&] { return archive_node_text(i, program_.nodes[i]); }));
    }
    TRY(load_outputs());
    TRY(verify(graph_));
    Model model{std::move(graph_), {}};
    model.examples = std::move(examples_);
    return model;
  }

 private:
  // Every symbol is declared, with its bounds, before the first expression is built: bounds simplify expressions.
  // Those of the user inputs' sizes come first and are the ones that a run can know.
  void declare_symbols() {
    std::map<std::string, std::int64_t> hints;
    std::vector<std::string> order;
    const auto note = [&](const pt2::SymInt& size) {
      const auto* expr = std::get_if<pt2::SymExpr>(&size);
      if (expr == nullptr) return;
      const std::vector<std::string> names = symbol_names_in_srepr(expr->text);
      order.insert(order.end(), names.begin(), names.end());
      if (names.size() == 1 && expr->text.starts_with("Symbol(") && expr->hint) hints.emplace(names[0], *expr->hint);
    };
    for (const pt2::InputSpec& input : program_.inputs) {
      if (input.kind != pt2::InputKind::kUser) continue;
      if (const auto* tensor = std::get_if<pt2::TensorRef>(&input.value)) {
        const auto meta = program_.tensors.find(tensor->name);
        if (meta != program_.tensors.end()) std::ranges::for_each(meta->second.sizes, note);
      } else if (const auto* scalar = std::get_if<pt2::SymInt>(&input.value)) {
        if (const auto* name = std::get_if<pt2::SymName>(scalar)) {
          const auto expr = program_.sym_ints.find(name->name);
          if (expr != program_.sym_ints.end()) note(expr->second);
        }
      }
    }
    known_symbols_.insert(order.begin(), order.end());
    for (const auto& [name, meta] : program_.tensors) std::ranges::for_each(meta.sizes, note);
    for (const auto& [name, expr] : program_.sym_ints) note(expr);
    for (const std::string& name : order) {
      if (graph_.exprs().find_symbol(name) != nullptr) continue;
      Symbol symbol{name, std::nullopt, std::nullopt, std::nullopt};
      if (const auto hint = hints.find(name); hint != hints.end()) symbol.hint = hint->second;
      const auto range = std::ranges::find(program_.ranges, name, &std::pair<std::string, pt2::Range>::first);
      if (range != program_.ranges.end()) {
        symbol.min = range->second.min;
        symbol.max = range->second.max;
      }
      graph_.exprs().declare(std::move(symbol));
    }
  }

  Dim dim(const pt2::SymExpr& expr) {
    const auto [entry, is_new] = dims_by_text_.emplace(expr.text, Dim());
    if (is_new) entry->second = dim_from_srepr(graph_.exprs(), expr.text, expr.hint);
    return entry->second;
  }

  // A size as a Dim; a named one must be a scalar that the sizes of the inputs determine.
  Expected<Dim> size(const pt2::SymInt& size) {
    if (const auto* number = std::get_if<std::int64_t>(&size)) return Dim(*number);
    if (const auto* expr = std::get_if<pt2::SymExpr>(&size)) return dim(*expr);
    const std::string& name = std::get<pt2::SymName>(size).name;
    const auto known = sizes_.find(name);
    if (known != sizes_.end()) return known->second;
    return bad_input(fmt::format("the size {} is used before it is defined", name));
  }

  bool is_known_before_run(Dim dim) const {
    if (dim.is_fixed()) return true;
    if (graph_.exprs().text(dim).find("opaque(") != std::string::npos) return false;
    return std::ranges::all_of(graph_.exprs().symbols_in(dim),
                               [&](const std::string& name) { return known_symbols_.contains(name); });
  }

  Expected<TensorType> type_of(const std::string& name) {
    const auto meta = program_.tensors.find(name);
    if (meta == program_.tensors.end()) return bad_input(fmt::format("no type is given for {}", name));
    if (meta->second.layout != pt2::Layout::kStrided) {
      return fail(ErrorKind::kUnsupported, fmt::format("{} is a tensor of layout {}; only strided ones can be read",
                                                       name, word_for(meta->second.layout)));
    }
    TensorType type{meta->second.dtype, {}};
    for (const pt2::SymInt& dimension : meta->second.sizes) {
      type.shape.push_back(TRY(size(dimension)));
      if (type.shape.back().is_fixed() && type.shape.back().value() < 0) {
        return bad_input(fmt::format("{} has a negative size {}", name, type.shape.back().value()));
      }
    }
    return type;
  }

  Expected<void> check_new(const std::string& name) const {
    if (!is_value_name(name)) return bad_input(fmt::format("{} is not a name of a value", shown(name)));
    if (graph_.find(name) || sizes_.contains(name)) return bad_input(fmt::format("{} is defined twice", name));
    return {};
  }

  Expected<ValueId> value(const std::string& name) const {
    const auto id = graph_.find(name);
    if (!id) return bad_input(fmt::format("{} is used before it is defined", shown(name)));
    return *id;
  }

  Expected<void> load_inputs() {
    std::size_t leaf = 0;
    for (const pt2::InputSpec& input : program_.inputs) {
      switch (input.kind) {
        case pt2::InputKind::kUser:
          TRY(load_user_input(input, leaf++));
          break;
        case pt2::InputKind::kScalarConstant:
          ++leaf;
          break;
        case pt2::InputKind::kParameter:
        case pt2::InputKind::kBuffer:
        case pt2::InputKind::kTensorConstant:
          TRY(load_constant(input));
          break;
        case pt2::InputKind::kCustomObject:
        case pt2::InputKind::kToken:
          return fail(ErrorKind::kUnsupported,
                      fmt::format("the model holds the object {}; only tensors and numbers can be read",
                                  input.target.empty() ? "of a token" : input.target));
      }
    }
    return {};
  }

  Expected<void> load_user_input(const pt2::InputSpec& input, std::size_t leaf) {
    if (const auto* tensor = std::get_if<pt2::TensorRef>(&input.value)) {
      TRY(check_new(tensor->name));
      graph_.add_input(tensor->name, TRY(type_of(tensor->name)));
      const auto* example =
          leaf < archive_.examples.size() ? std::get_if<TensorView>(&archive_.examples[leaf]) : nullptr;
      examples_.push_back(example == nullptr ? std::nullopt : std::optional(*example));
      return {};
    }
    if (const auto* scalar = std::get_if<pt2::SymInt>(&input.value)) {
      if (const auto* name = std::get_if<pt2::SymName>(scalar)) {
        TRY(check_new(name->name));
        const auto expr = program_.sym_ints.find(name->name);
        if (expr == program_.sym_ints.end()) return bad_input(fmt::format("no value is given for {}", name->name));
        sizes_.emplace(name->name, TRY(size(expr->second)));
        graph_.add_input(name->name, TensorType{DType::kI64, {}});
        examples_.emplace_back();
      }
    }
    return {};  // a literal: the model was exported for just this value
  }

  Expected<void> load_constant(const pt2::InputSpec& input) {
    const auto* tensor = std::get_if<pt2::TensorRef>(&input.value);
    if (tensor == nullptr) return bad_input(fmt::format("{} is not a tensor", input.target));
    TRY(check_new(tensor->name));
    const bool is_weight =
        input.kind == pt2::InputKind::kParameter || (input.kind == pt2::InputKind::kBuffer && input.is_persistent);
    const auto& first = is_weight ? archive_.weights : archive_.constants;
    const auto& second = is_weight ? archive_.constants : archive_.weights;
    auto data = first.find(input.target);
    if (data == first.end()) {
      data = second.find(input.target);
      if (data == second.end()) {
        return bad_input(fmt::format("the archive has no data for {} ({})", input.target, tensor->name));
      }
    }
    const TensorType declared = TRY(type_of(tensor->name));
    const TensorView& view = data->second;
    const TensorType found{view.dtype, Shape(view.sizes.begin(), view.sizes.end())};
    if (declared != found) {
      return bad_input(fmt::format("{} is declared as {} and its data is {}", input.target, type_text(graph_, declared),
                                   type_text(graph_, found)));
    }
    graph_.add_constant(tensor->name, view, input.target);
    by_fqn_.emplace(input.target, tensor->name);
    return {};
  }

  // An argument that is a symbolic scalar: an expression where the inputs' sizes determine it, else its value.
  Expected<ArgValue> scalar(const std::string& name, std::vector<ValueId>& inputs) const {
    if (const auto known = sizes_.find(name); known != sizes_.end()) return ArgValue{known->second};
    inputs.push_back(TRY(value(name)));
    return ArgValue{TensorArg{}};
  }
  Expected<ArgValue> arg(const pt2::SymInt& number, std::vector<ValueId>& inputs) {
    if (const auto* name = std::get_if<pt2::SymName>(&number)) return scalar(name->name, inputs);
    return ArgValue{TRY(size(number))};
  }
  Expected<ArgValue> arg(const pt2::TensorRef& tensor, std::vector<ValueId>& inputs) {
    inputs.push_back(TRY(value(tensor.name)));
    return ArgValue{TensorArg{}};
  }
  Expected<ArgValue> arg(const std::optional<pt2::TensorRef>& tensor, std::vector<ValueId>& inputs) {
    if (!tensor) return ArgValue{NoneArg{}};
    return arg(*tensor, inputs);
  }
  Expected<ArgValue> arg(const std::variant<double, pt2::SymFloatRef>& number, std::vector<ValueId>& inputs) {
    if (const auto* symbolic = std::get_if<pt2::SymFloatRef>(&number)) return scalar(symbolic->name, inputs);
    return ArgValue{std::get<double>(number)};
  }
  Expected<ArgValue> arg(std::int64_t number, std::vector<ValueId>&) { return ArgValue{Dim(number)}; }
  Expected<ArgValue> arg(double number, std::vector<ValueId>&) { return ArgValue{number}; }
  Expected<ArgValue> arg(bool boolean, std::vector<ValueId>&) { return ArgValue{boolean}; }
  Expected<ArgValue> arg(const pt2::Text& text, std::vector<ValueId>&) { return ArgValue{text.value}; }
  template <class Item>
  Expected<ArgValue> arg(const std::vector<Item>& items, std::vector<ValueId>& inputs) {
    std::vector<ArgValue> list;
    list.reserve(items.size());
    for (const Item& item : items) list.push_back(TRY(arg(item, inputs)));
    return ArgValue{std::move(list)};
  }
  Expected<ArgValue> arg(const pt2::None&, std::vector<ValueId>&) { return ArgValue{NoneArg{}}; }
  Expected<ArgValue> arg(const pt2::SymFloatRef& ref, std::vector<ValueId>& inputs) { return scalar(ref.name, inputs); }
  Expected<ArgValue> arg(const pt2::SymBoolRef& ref, std::vector<ValueId>& inputs) { return scalar(ref.name, inputs); }
  Expected<ArgValue> arg(DType dtype, std::vector<ValueId>&) { return ArgValue{dtype}; }
  Expected<ArgValue> arg(pt2::MemoryFormat format, std::vector<ValueId>&) {
    return ArgValue{WordArg{std::string(word_for(format))}};
  }
  Expected<ArgValue> arg(pt2::Layout layout, std::vector<ValueId>&) {
    return ArgValue{WordArg{std::string(word_for(layout))}};
  }
  Expected<ArgValue> arg(const pt2::Device& device, std::vector<ValueId>&) {
    return ArgValue{WordArg{device.index ? fmt::format("{}:{}", device.type, *device.index) : device.type}};
  }
  Expected<ArgValue> arg(const std::complex<double>& number, std::vector<ValueId>&) { return ArgValue{number}; }
  Expected<ArgValue> arg(const pt2::Unreadable& unreadable, std::vector<ValueId>&) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("it takes an argument of kind {} ({}), which is neither a tensor nor a number",
                            unreadable.kind, unreadable.name));
  }
  Expected<ArgValue> arg(const std::shared_ptr<const pt2::Subgraph>& region, std::vector<ValueId>&) {
    return bad_input(fmt::format("the subgraph {} is an argument of the model", region->name));
  }
  Expected<ArgValue> arg(const pt2::ArgumentValue& argument, std::vector<ValueId>& inputs) {
    return std::visit([&](const auto& alternative) { return arg(alternative, inputs); }, argument);
  }

  // True where all that a node makes are scalars which the sizes of the inputs determine: they are noted and the node
  // is not needed.
  Expected<bool> is_size_arithmetic(const pt2::Node& node) {
    std::vector<std::pair<std::string, Dim>> found;
    for (const pt2::ArgumentValue& output : node.outputs) {
      const auto* scalar = std::get_if<pt2::SymInt>(&output);
      const auto* name = scalar == nullptr ? nullptr : std::get_if<pt2::SymName>(scalar);
      if (name == nullptr) return false;
      const auto expr = program_.sym_ints.find(name->name);
      if (expr == program_.sym_ints.end()) return bad_input(fmt::format("no value is given for {}", name->name));
      const Dim value = TRY(size(expr->second));
      if (!is_known_before_run(value)) return false;
      found.emplace_back(name->name, value);
    }
    for (auto& [name, value] : found) {
      TRY(check_new(name));
      sizes_.emplace(std::move(name), value);
    }
    return !found.empty();
  }

  Expected<void> add_result(std::vector<Result>& results, const std::string& name, TensorType type) {
    TRY(check_new(name));
    if (!names_of_node_.insert(name).second) return bad_input(fmt::format("{} is defined twice", name));
    results.push_back({name, std::move(type)});
    return {};
  }

  Expected<void> load_result(const pt2::ArgumentValue& output, std::vector<Result>& results) {
    if (const auto* tensor = std::get_if<pt2::TensorRef>(&output)) {
      return add_result(results, tensor->name, TRY(type_of(tensor->name)));
    }
    if (const auto* tensors = std::get_if<pt2::TensorRefs>(&output)) {
      for (const pt2::TensorRef& tensor : *tensors) TRY(add_result(results, tensor.name, TRY(type_of(tensor.name))));
      return {};
    }
    if (const auto* tensors = std::get_if<pt2::OptionalTensorRefs>(&output)) {
      for (const auto& tensor : *tensors) {
        if (tensor) TRY(add_result(results, tensor->name, TRY(type_of(tensor->name))));
      }
      return {};
    }
    if (const auto* number = std::get_if<pt2::SymInt>(&output)) {
      const auto* name = std::get_if<pt2::SymName>(number);
      return name == nullptr ? Expected<void>() : add_result(results, name->name, TensorType{DType::kI64, {}});
    }
    if (const auto* number = std::get_if<pt2::SymFloatRef>(&output)) {
      return add_result(results, number->name, TensorType{DType::kF64, {}});
    }
    if (const auto* boolean = std::get_if<pt2::SymBoolRef>(&output)) {
      return add_result(results, boolean->name, TensorType{DType::kBool, {}});
    }
    if (std::holds_alternative<pt2::None>(output)) return {};
    return fail(ErrorKind::kUnsupported, "it has a result that is neither a tensor nor a number");
  }

  Expected<void> load_node(const pt2::Node& node) {
    if (TRY(is_size_arithmetic(node))) return {};
    ForeignAttrs attrs{short_target(node.target), {}};
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const pt2::Argument& argument = node.inputs[i];
      const auto place = [&] { return fmt::format("argument {} {}", i, argument.name); };
      ArgValue value = TRY(within(arg(argument.value, inputs), place));
      attrs.args.push_back({argument.name, std::move(value)});
    }
    std::vector<Result> results;
    names_of_node_.clear();
    for (const pt2::ArgumentValue& output : node.outputs) TRY(load_result(output, results));
    graph_.add_node(Op::kForeign, std::move(attrs), std::move(inputs), std::move(results), origin_of(node.metadata));
    return {};
  }

  // The name of the value that an output is written back to.
  Expected<std::string> written(const pt2::OutputSpec& spec) const {
    const auto buffer = by_fqn_.find(spec.target);
    const std::string& name =
        spec.kind == pt2::OutputKind::kInputMutation || buffer == by_fqn_.end() ? spec.target : buffer->second;
    const auto id = graph_.find(name);
    const bool is_place = id && graph_[*id].kind != ValueKind::kResult;
    if (!is_place) return bad_input(fmt::format("the model writes to {}, which does not exist", shown(spec.target)));
    return name;
  }

  Expected<void> load_outputs() {
    std::vector<Output> mutations;
    std::vector<Output> results;
    for (const pt2::OutputSpec& spec : program_.outputs) {
      std::vector<ValueId> values;
      ArgValue leaf = TRY(within(arg(spec.value, values), [] { return "the model's outputs"; }));
      Output output{std::move(leaf), OutputKind::kResult, spec.target};
      if (values.size() == 1 && std::holds_alternative<TensorArg>(std::get<ArgValue>(output.value).value)) {
        output.value = values[0];
      } else if (!values.empty()) {
        return bad_input("an output of the model is a list; return each tensor as a separate output");
      }
      switch (spec.kind) {
        case pt2::OutputKind::kUser:
        case pt2::OutputKind::kLoss:
          output.target.clear();
          results.push_back(std::move(output));
          break;
        case pt2::OutputKind::kBufferMutation:
        case pt2::OutputKind::kInputMutation:
        case pt2::OutputKind::kParameterMutation:
          output.kind = OutputKind::kMutation;
          output.target = TRY(written(spec));
          mutations.push_back(std::move(output));
          break;
        case pt2::OutputKind::kGradient:
        case pt2::OutputKind::kToken:
          return fail(ErrorKind::kUnsupported, "the model returns a gradient or a token: export it for inference");
      }
    }
    for (const ValueId id : written_in_place(graph_)) {
      // Nothing but the calls says what is left in it: it is what the value has become when all of them are done.
      const bool is_known =
          std::ranges::any_of(mutations, [&](const Output& mutation) { return mutation.target == graph_[id].name; });
      if (!is_known) mutations.push_back({id, OutputKind::kMutation, graph_[id].name});
    }
    for (Output& output : mutations) {
      const ValueId target = *graph_.find(output.target);
      if (graph_.constant(target) != nullptr) graph_.make_state(target);
      if (graph_[target].kind == ValueKind::kInput) {
        diagnostics_.note("input-written", output.target,
                          fmt::format("the model modifies its input {}: the program modifies its own copy, which "
                                      "callers see only if they read the program's inputs afterwards",
                                      output.target));
      }
      graph_.add_output(std::move(output));
    }
    for (Output& output : results) graph_.add_output(std::move(output));
    return {};
  }

  const pt2::Program& program_;
  const pt2::Archive& archive_;
  Diagnostics& diagnostics_;
  Graph graph_;
  std::vector<std::optional<TensorView>> examples_;
  std::set<std::string> known_symbols_;            // those that the user inputs' sizes determine
  std::map<std::string, Dim, std::less<>> sizes_;  // symbolic scalars by name
  std::map<std::string, Dim> dims_by_text_;        // expressions that were read before
  std::map<std::string, std::string> by_fqn_;      // the names of constants by those in the user's module
  std::set<std::string> names_of_node_;            // of the results of the node being read
};

}  // namespace

std::string archive_node_text(std::size_t index, const pt2::Node& node) {
  return fmt::format("node {}: {}{}", index, short_target(node.target), origin_suffix(origin_of(node.metadata)));
}

std::string short_target(std::string_view target) {
  constexpr std::string_view kTorchOps = "torch.ops.";
  return std::string(target.starts_with(kTorchOps) ? target.substr(kTorchOps.size()) : target);
}

Expected<Model> load(const pt2::Archive& archive, Diagnostics& diagnostics) {
  if (!has_regions(archive.program)) return Loader(archive.program, archive, diagnostics).whole();
  const pt2::Program program = TRY(inline_regions(archive.program));
  return Loader(program, archive, diagnostics).whole();
}

}  // namespace isthmus
