// Reads the arguments of nodes: one row a form.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "formats/torch/pt2_values.h"

namespace isthmus::pt2 {
namespace {

using json::Value;

Expected<TensorRef> read_tensor_ref(Value value) { return TensorRef{TRY(read_text(TRY(value.get("name"))))}; }
Expected<TensorRefs> read_tensor_refs(Value value) { return json::read_each(value, read_tensor_ref); }
Expected<std::int64_t> read_integer(Value value) { return value.as_integer(); }
Expected<bool> read_bool(Value value) { return value.as_bool(); }
Expected<Text> read_string(Value value) { return Text{TRY(read_text(value))}; }
Expected<None> read_none(Value) { return None{}; }

// What JSON numbers cannot say comes as text.
Expected<double> read_float(Value value) {
  if (value.kind() != json::Kind::kString) return value.as_number();
  const std::string_view text = TRY(value.as_text());
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  return value.expected("a number, \"Infinity\", \"-Infinity\" or \"NaN\"");
}

Expected<SymInt> read_plain_int(Value value) {
  return SymInt(std::in_place_type<std::int64_t>, TRY(value.as_integer()));
}

Expected<std::variant<double, SymFloatRef>> read_sym_float_item(Value value) {
  using Item = std::variant<double, SymFloatRef>;
  const Value form = TRY(value.only_member());
  if (form.key() == "as_float") return Item(TRY(read_float(form)));
  if (form.key() == "as_name") return Item(SymFloatRef{TRY(read_text(form))});
  return form.error("expected as_float or as_name");
}

Expected<std::optional<TensorRef>> read_optional_tensor_ref(Value value) {
  const Value form = TRY(value.only_member());
  if (form.key() == "as_none") return std::nullopt;
  if (form.key() == "as_tensor") return TRY(read_tensor_ref(form));
  return form.error("expected as_tensor or as_none");
}

Expected<MemoryFormat> read_memory_format(Value value) {
  const std::int64_t number = TRY(value.as_integer());
  if (number < 0 || number > static_cast<std::int64_t>(MemoryFormat::kPreserve)) {
    return value.expected("the number of a memory format");
  }
  return static_cast<MemoryFormat>(number);
}

Expected<std::complex<double>> read_complex(Value value) {
  const double real = TRY(read_float(TRY(value.get("real"))));
  return std::complex<double>(real, TRY(read_float(TRY(value.get("imag")))));
}

Expected<ArgumentValue> read_sym_float(Value value) {
  const auto item = TRY(read_sym_float_item(value));
  return std::visit([](const auto& held) { return ArgumentValue(held); }, item);
}

Expected<ArgumentValue> read_sym_bool(Value value) {
  const Value form = TRY(value.only_member());
  if (form.key() == "as_bool") return ArgumentValue(std::in_place_type<bool>, TRY(form.as_bool()));
  if (form.key() == "as_name") return ArgumentValue(SymBoolRef{TRY(read_text(form))});
  return form.error("expected as_bool or as_name");
}

Expected<ArgumentValue> read_optional_tensor(Value value) {
  auto tensor = TRY(read_optional_tensor_ref(value));
  return tensor ? ArgumentValue(*std::move(tensor)) : ArgumentValue(None{});
}

// {"name": "true_graph_0", "graph": {"inputs": [...], "outputs": [...], "nodes": [...], ...}}
Expected<ArgumentValue> read_subgraph(Value value) {
  auto subgraph = std::make_shared<Subgraph>();
  subgraph->name = TRY(read_text(TRY(value.get("name"))));
  const Value graph = TRY(value.get("graph"));
  TRY(read_body(graph, *subgraph));
  subgraph->inputs = TRY(json::read_each(TRY(graph.get("inputs")), read_argument));
  subgraph->outputs = TRY(json::read_each(TRY(graph.get("outputs")), read_argument));
  return ArgumentValue(std::shared_ptr<const Subgraph>(std::move(subgraph)));
}

// Keeps the name of what is not read, where it has one: {"name": "...", "class_fqn": ...}.
Expected<ArgumentValue> read_unreadable(Value value) {
  Unreadable unreadable{std::string(value.key()), {}};
  if (value.kind() == json::Kind::kString) unreadable.name = TRY(read_text(value));
  if (value.kind() == json::Kind::kObject) {
    const auto name = TRY(value.find("name"));
    if (name && name->kind() == json::Kind::kString) unreadable.name = TRY(read_text(*name));
  }
  return ArgumentValue(std::move(unreadable));
}

template <auto read>
Expected<ArgumentValue> as_value(Value value) {
  using Held = typename std::invoke_result_t<decltype(read), Value>::value_type;
  return ArgumentValue(std::in_place_type<Held>, TRY(read(value)));
}

template <auto read>
Expected<ArgumentValue> as_values(Value value) {
  using Item = typename std::invoke_result_t<decltype(read), Value>::value_type;
  return ArgumentValue(std::in_place_type<std::vector<Item>>, TRY(json::read_each(value, read)));
}

template <auto read>
Expected<ArgumentValue> as_lists(Value value) {
  using Item = typename std::invoke_result_t<decltype(read), Value>::value_type;
  const auto inner = [](Value list) { return json::read_each(list, read); };
  return ArgumentValue(std::in_place_type<std::vector<std::vector<Item>>>, TRY(json::read_each(value, inner)));
}

struct Form {
  std::string_view key;
  Expected<ArgumentValue> (*read)(Value);
};

// The commonest first. What is not here, such as as_custom_obj, as_operator and forms newer than schema
// 8.20, is Unreadable.
constexpr Form kForms[] = {
    {"as_tensor", as_value<read_tensor_ref>},
    {"as_ints", as_values<read_plain_int>},
    {"as_int", as_value<read_plain_int>},
    {"as_float", as_value<read_float>},
    {"as_bool", as_value<read_bool>},
    {"as_none", as_value<read_none>},
    {"as_tensors", as_value<read_tensor_refs>},
    {"as_sym_int", as_value<read_sym_int>},
    {"as_sym_ints", as_values<read_sym_int>},
    {"as_string", as_value<read_string>},
    {"as_strings", as_values<read_string>},
    {"as_floats", as_values<read_float>},
    {"as_bools", as_values<read_bool>},
    {"as_sym_float", read_sym_float},
    {"as_sym_floats", as_values<read_sym_float_item>},
    {"as_sym_bool", read_sym_bool},
    {"as_scalar_type", as_value<read_dtype>},
    {"as_memory_format", as_value<read_memory_format>},
    {"as_layout", as_value<read_layout>},
    {"as_device", as_value<read_device>},
    {"as_optional_tensor", read_optional_tensor},
    {"as_optional_tensors", as_values<read_optional_tensor_ref>},
    {"as_nested_tensors", as_lists<read_tensor_ref>},
    {"as_int_lists", as_lists<read_integer>},
    {"as_float_lists", as_lists<read_float>},
    {"as_complex", as_value<read_complex>},
    {"as_graph", read_subgraph},
};

}  // namespace

Expected<ArgumentValue> read_argument(json::Value value) {
  const Value form = TRY(value.only_member());
  const auto* const row = std::ranges::find(kForms, form.key(), &Form::key);
  return row == std::end(kForms) ? read_unreadable(form) : row->read(form);
}

}  // namespace isthmus::pt2
