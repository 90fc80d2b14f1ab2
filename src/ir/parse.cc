// Reads a graph from its text form.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "ir/line_cursor.h"
#include "ir/literals.h"
#include "ir/text.h"

namespace isthmus {
namespace {

class Parser {
 public:
  Expected<Graph> whole(std::string_view text) {
    std::size_t number = 0;
    while (!text.empty()) {
      const std::size_t length = std::min(text.find('\n'), text.size());
      auto done = line(LineCursor(text.substr(0, length)));
      ++number;
      if (!done) return bad_input(fmt::format("line {}: {}", number, done.error().message));
      text.remove_prefix(std::min(length + 1, text.size()));
    }
    if (!has_header_) return bad_input("the text does not begin with 'graph'");
    if (!has_return_) return bad_input(fmt::format("line {}: expected a 'return' at the end", number));
    if (!unresolved_.empty()) {
      return bad_input(fmt::format("line {}: the parameters @{} are not given", number, unresolved_.begin()->first));
    }
    return std::move(graph_);
  }

 private:
  Expected<void> line(LineCursor cursor) {
    if (cursor.at_end() || cursor.peek() == '#') return {};
    if (!has_header_) {
      TRY(cursor.want("graph"));
      has_header_ = true;
    } else if (has_quants_) {
      TRY(quant(cursor));
    } else if (has_return_) {
      if (!cursor.take("quant")) return bad_input("nothing but 'quant' may follow 'return'");
      has_quants_ = true;
    } else if (cursor.take("symbol ")) {
      TRY(symbol(cursor));
    } else if (cursor.take("input ")) {
      TRY(input(cursor));
    } else if (cursor.take("const ")) {
      TRY(constant(cursor, ValueKind::kConstant));
    } else if (cursor.take("state ")) {
      TRY(constant(cursor, ValueKind::kState));
    } else if (cursor.take("mutate ")) {
      TRY(mutation(cursor));
    } else if (cursor.take("return")) {
      TRY(results(cursor));
    } else {
      TRY(node(cursor));
    }
    if (!cursor.at_end()) return bad_input(fmt::format("unexpected '{}'", cursor.rest()));
    return {};
  }

  Expected<std::string> new_name(LineCursor& cursor) {
    std::string name = TRY(cursor.value_name());
    if (graph_.find(name)) return bad_input(fmt::format("%{} is defined twice", name));
    return name;
  }
  Expected<ValueId> known_value(LineCursor& cursor) {
    const std::string name = TRY(cursor.value_name());
    const auto id = graph_.find(name);
    if (!id) return bad_input(fmt::format("%{} is used before it is defined", name));
    return *id;
  }

  Expected<void> symbol(LineCursor& cursor) {
    Symbol symbol;
    symbol.name = TRY(cursor.word());
    if (!is_symbol_name(symbol.name)) return bad_input(fmt::format("'{}' is not a name of a symbol", symbol.name));
    if (graph_.exprs().find_symbol(symbol.name) != nullptr) {
      return bad_input(fmt::format("symbol {} is declared twice", symbol.name));
    }
    TRY(cursor.want("in"));
    TRY(cursor.want("["));
    if (cursor.peek() != ',') symbol.min = TRY(cursor.integer());
    TRY(cursor.want(","));
    if (cursor.peek() != ']') symbol.max = TRY(cursor.integer());
    TRY(cursor.want("]"));
    if (cursor.take("~")) symbol.hint = TRY(cursor.integer());
    graph_.exprs().declare(std::move(symbol));
    return {};
  }

  Expected<TensorType> type(LineCursor& cursor) {
    const std::string name = TRY(cursor.word());
    const auto dtype = dtype_from_name(name);
    if (!dtype) return bad_input(fmt::format("'{}' is not an element type", name));
    TensorType result{*dtype, {}};
    TRY(cursor.want("["));
    if (cursor.take("]")) return result;
    do {
      result.shape.push_back(TRY(graph_.exprs().parse(cursor.scalar())));
    } while (cursor.take(","));
    TRY(cursor.want("]"));
    return result;
  }

  // The name of parameters behind a type; they are given at the end.
  static Expected<std::string> label(LineCursor& cursor) {
    if (!cursor.take("@")) return std::string();
    return cursor.word();
  }
  void resolve_later(const std::string& quant_label, ValueId id) {
    if (!quant_label.empty()) unresolved_.emplace(quant_label, id);
  }
  Expected<void> quant(LineCursor& cursor) {
    const std::string name = TRY(label(cursor));
    if (!unresolved_.contains(name)) return bad_input(fmt::format("no value has the parameters '{}'", name));
    const std::string dtype = TRY(cursor.word());
    Quant result;
    if (cursor.take("axis=")) {
      const std::int64_t axis = TRY(cursor.integer());
      if (axis < 0 || axis > 64) return bad_input(fmt::format("axis {} is out of range", axis));
      result.axis = static_cast<std::int32_t>(axis);
    }
    TRY(cursor.want("scale="));
    const bool is_list = cursor.take("[");
    if (is_list != (result.axis >= 0)) return bad_input("a list of scales belongs to an axis");
    do {
      double scale = 0;
      TRY(attr(cursor, scale));
      result.scales.push_back(static_cast<float>(scale));
    } while (is_list && cursor.take(","));
    if (is_list) TRY(cursor.want("]"));
    if (cursor.take("zp=")) {
      const std::int64_t zero_point = TRY(cursor.integer());
      if (zero_point != static_cast<std::int32_t>(zero_point)) {
        return bad_input(fmt::format("{} is not a zero point", zero_point));
      }
      result.zero_point = static_cast<std::int32_t>(zero_point);
    }
    const auto [first, last] = unresolved_.equal_range(name);
    for (auto it = first; it != last; ++it) {
      if (name_of(graph_.type(it->second).dtype) != dtype) {
        return bad_input(fmt::format("%{} is not {}", graph_[it->second].name, dtype));
      }
      graph_.set_quant(it->second, result);
    }
    unresolved_.erase(first, last);
    if (cursor.take("{")) TRY(cursor.until("}"));
    return {};
  }

  Expected<void> input(LineCursor& cursor) {
    std::string name = TRY(new_name(cursor));
    TRY(cursor.want(":"));
    TensorType input_type = TRY(type(cursor));
    const std::string quant_label = TRY(label(cursor));
    resolve_later(quant_label, graph_.add_input(std::move(name), std::move(input_type)));
    return {};
  }

  Expected<void> constant(LineCursor& cursor, ValueKind kind) {
    std::string name = TRY(new_name(cursor));
    TRY(cursor.want(":"));
    TensorType constant_type = TRY(type(cursor));
    const std::string quant_label = TRY(label(cursor));
    std::vector<std::int64_t> sizes;
    for (const Dim dim : constant_type.shape) {
      if (!dim.is_fixed()) return bad_input("the shape of a constant is fixed");
      sizes.push_back(dim.value());
    }
    Constant result;
    if (cursor.take("#")) {
      std::uint64_t hash = 0;
      const std::string digits = TRY(cursor.word());
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), hash, 16);
      if (error != std::errc() || end != digits.data() + digits.size() || digits.size() != 16) {
        return bad_input(fmt::format("'{}' is not a hash of 16 hex digits", digits));
      }
      result.hash = hash;
    } else {
      TRY(cursor.want("="));
      std::string_view elements;
      if (cursor.peek() == '[') {
        elements = TRY(cursor.until("]"));
        elements.remove_prefix(1);
      } else {
        elements = cursor.scalar();
      }
      result.data = TRY(tensor_from_inline(constant_type.dtype, sizes, elements));
    }
    if (cursor.peek() == '"') result.fqn = TRY(cursor.string());
    const ValueId made = kind == ValueKind::kState
                             ? graph_.add_state(std::move(name), std::move(constant_type), std::move(result))
                             : graph_.add_constant(std::move(name), std::move(constant_type), std::move(result));
    resolve_later(quant_label, made);
    return {};
  }

  Expected<ArgValue> arg(LineCursor& cursor, std::vector<ValueId>& inputs, int depth) {
    if (depth > 16) return bad_input("lists are nested too deeply");
    switch (cursor.peek()) {
      case '%':
        inputs.push_back(TRY(known_value(cursor)));
        return ArgValue{TensorArg{}};
      case '"':
        return ArgValue{TRY(cursor.string())};
      case '\'':
        return ArgValue{WordArg{TRY(cursor.string())}};
      case '[': {
        TRY(cursor.want("["));
        std::vector<ArgValue> list;
        if (cursor.take("]")) return ArgValue{std::move(list)};
        do {
          list.push_back(TRY(arg(cursor, inputs, depth + 1)));
        } while (cursor.take(","));
        TRY(cursor.want("]"));
        return ArgValue{std::move(list)};
      }
      default:
        return scalar_arg(cursor.scalar());
    }
  }

  static std::optional<double> number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  }

  Expected<ArgValue> scalar_arg(std::string_view text) {
    if (text == "none") return ArgValue{NoneArg{}};
    if (text == "true") return ArgValue{true};
    if (text == "false") return ArgValue{false};
    if (const auto dtype = dtype_from_name(text)) return ArgValue{*dtype};
    if (text.starts_with("complex(") && text.ends_with(")")) {
      const std::string_view inner = text.substr(8, text.size() - 9);
      const std::size_t comma = std::min(inner.find(','), inner.size());
      const auto real = number(inner.substr(0, comma));
      const auto imaginary = number(inner.substr(std::min(comma + 1, inner.size())));
      if (!real || !imaginary) return bad_input(fmt::format("'{}' is not a complex number", text));
      return ArgValue{std::complex<double>(*real, *imaginary)};
    }
    const bool is_number = !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
    const bool has_float_mark = text.find_first_of(".e") != std::string_view::npos;
    if (text == "inf" || text == "-inf" || text == "nan" || (is_number && has_float_mark)) {
      if (const auto value = number(text)) return ArgValue{*value};
    }
    return ArgValue{TRY(graph_.exprs().parse(text))};
  }

  Expected<void> foreign(LineCursor& cursor, ForeignAttrs& attrs, std::vector<ValueId>& inputs) {
    attrs.target = TRY(cursor.string());
    while (cursor.take(",")) {
      Arg argument;
      const LineCursor before = cursor;
      if (auto word = cursor.word(); word && cursor.take("=")) {
        argument.name = std::move(*word);
      } else {
        cursor = before;
      }
      argument.value = TRY(arg(cursor, inputs, 0));
      attrs.args.push_back(std::move(argument));
    }
    return cursor.want(")");
  }

  Expected<void> plain(LineCursor& cursor, std::vector<ValueId>& inputs) {
    if (cursor.take(")")) return {};
    do {
      inputs.push_back(TRY(known_value(cursor)));
    } while (cursor.take(","));
    return cursor.want(")");
  }

  Expected<void> attr(LineCursor& cursor, std::int64_t& number) {
    number = TRY(cursor.integer());
    return {};
  }
  Expected<void> attr(LineCursor& cursor, double& value) {
    const std::string_view text = cursor.scalar();
    const auto found = number(text);
    if (!found) return bad_input(fmt::format("'{}' is not a number", text));
    value = *found;
    return {};
  }
  Expected<void> attr(LineCursor& cursor, bool& boolean) {
    const std::string_view text = cursor.scalar();
    if (text != "true" && text != "false") return bad_input(fmt::format("'{}' is neither true nor false", text));
    boolean = text == "true";
    return {};
  }
  Expected<void> attr(LineCursor& cursor, Dim& dim) {
    dim = TRY(graph_.exprs().parse(cursor.scalar()));
    return {};
  }
  Expected<void> attr(LineCursor& cursor, DType& dtype) {
    const std::string_view text = cursor.scalar();
    const auto found = dtype_from_name(text);
    if (!found) return bad_input(fmt::format("'{}' is not an element type", text));
    dtype = *found;
    return {};
  }
  template <class Enum>
  requires std::is_enum_v<Enum> Expected<void> attr(LineCursor& cursor, Enum& word) {
    const std::string_view text = cursor.scalar();
    const auto found = std::ranges::find(words(word), text);
    if (found == words(word).end())
      return bad_input(fmt::format("'{}' is none of {}", text, fmt::join(words(word), ", ")));
    word = static_cast<Enum>(found - words(word).begin());
    return {};
  }
  template <class Item>
  Expected<void> attr(LineCursor& cursor, std::vector<Item>& items) {
    TRY(cursor.want("["));
    items.clear();
    if (cursor.take("]")) return {};
    do {
      TRY(attr(cursor, items.emplace_back()));
    } while (cursor.take(","));
    return cursor.want("]");
  }

  // A member of an attribute struct by its type, so that what reads it is compiled once and not for each struct.
  using Member = std::variant<std::monostate, std::int64_t*, double*, bool*, Dim*, DType*, Ints*, Dims*,
                              std::vector<double>*, PadMode*, ResizeMode*, GridPadding*, ScatterMode*, ScaleChoice*>;
  template <class Fields>
  static Member member(Fields& attrs, std::string_view name) {
    Member found;
    const auto try_field = [&](const auto& field) {
      if (name == field.name) found = &(attrs.*field.member);
    };
    std::apply([&](const auto&... field) { (try_field(field), ...); }, Fields::fields());
    return found;
  }
  static Member member(ForeignAttrs&, std::string_view) { return {}; }

  // name=value pairs up to the ':' of the result's type.
  Expected<void> fields(LineCursor& cursor, Attrs& attrs) {
    if (std::holds_alternative<ForeignAttrs>(attrs)) return {};
    while (!cursor.at_end() && cursor.peek() != ':' && cursor.peek() != '!') {
      const std::string name = TRY(cursor.word());
      TRY(cursor.want("="));
      const Member found = std::visit([&](auto& alternative) { return member(alternative, name); }, attrs);
      TRY(std::visit(
          [&](auto pointer) -> Expected<void> {
            if constexpr (std::is_pointer_v<decltype(pointer)>) return attr(cursor, *pointer);
            return bad_input(fmt::format("this op has no attribute '{}'", name));
          },
          found));
    }
    return {};
  }

  Expected<void> node(LineCursor& cursor) {
    std::vector<Result> outputs;
    if (cursor.peek() == '%') {
      do {
        outputs.push_back({TRY(new_name(cursor)), {}});
        for (std::size_t i = 0; i + 1 < outputs.size(); ++i) {
          if (outputs[i].name == outputs.back().name) {
            return bad_input(fmt::format("%{} is defined twice", outputs[i].name));
          }
        }
      } while (cursor.take(","));
      TRY(cursor.want("="));
    }
    const std::string op_name = TRY(cursor.word());
    const auto op = op_from_name(op_name);
    if (!op) return bad_input(fmt::format("unknown op '{}'", op_name));
    TRY(cursor.want("("));
    Attrs attrs = default_attrs(*op);
    std::vector<ValueId> inputs;
    if (auto* foreign_attrs = std::get_if<ForeignAttrs>(&attrs)) {
      TRY(foreign(cursor, *foreign_attrs, inputs));
    } else {
      TRY(plain(cursor, inputs));
    }
    TRY(fields(cursor, attrs));
    const bool in_float = cursor.take("!float");
    std::vector<std::string> labels;
    if (!outputs.empty()) TRY(cursor.want(":"));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (i > 0) TRY(cursor.want(","));
      outputs[i].type = TRY(type(cursor));
      labels.push_back(TRY(label(cursor)));
    }
    Origin origin;
    if (cursor.take("# ")) {
      origin = TRY(origin_from_text(cursor.rest()));
      cursor.drop_rest();
    }
    const NodeId made =
        graph_.add_node(*op, std::move(attrs), std::move(inputs), std::move(outputs), std::move(origin));
    if (in_float) graph_.keep_in_float(made);
    for (std::size_t i = 0; i < labels.size(); ++i) resolve_later(labels[i], graph_[made].outputs[i]);
    return {};
  }

  Expected<Output> leaf(LineCursor& cursor) {
    if (cursor.peek() == '%') return Output{TRY(known_value(cursor)), OutputKind::kResult, {}};
    std::vector<ValueId> inputs;
    ArgValue value = TRY(arg(cursor, inputs, 0));
    if (!inputs.empty()) return bad_input("a list of values cannot be returned; return each of them");
    return Output{std::move(value), OutputKind::kResult, {}};
  }

  Expected<void> mutation(LineCursor& cursor) {
    std::string target = TRY(cursor.string());
    Output output = TRY(leaf(cursor));
    output.kind = OutputKind::kMutation;
    output.target = std::move(target);
    graph_.add_output(std::move(output));
    return {};
  }

  Expected<void> results(LineCursor& cursor) {
    has_return_ = true;
    if (cursor.at_end()) return {};
    do {
      graph_.add_output(TRY(leaf(cursor)));
    } while (cursor.take(","));
    return {};
  }

  Graph graph_;
  bool has_header_ = false;
  bool has_return_ = false;
  bool has_quants_ = false;
  std::multimap<std::string, ValueId> unresolved_;  // values whose parameters are given at the end, by their label
};

}  // namespace

Expected<Graph> parse_graph(std::string_view text) { return Parser().whole(text); }

}  // namespace isthmus
