// The exported program's JSON: every form of an argument, and errors that name their place.
#include "formats/torch/pt2_program.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

namespace isthmus::pt2::pt2_program_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Parts {
  std::string nodes = "[]";
  std::string graph = "";  // further keys
  std::string graph_inputs = "[]", input_specs = "[]";
  std::string graph_outputs = "[]", output_specs = "[]";
  std::string schema = R"({"major": 8, "minor": 20})";
  std::string top = "";     // further keys
  std::string module = "";  // further keys
};

std::string json(const Parts& parts) {
  return fmt::format(R"({{"graph_module": {{"graph": {{"nodes": {}, "inputs": {}, "outputs": {}{}}},
                     "signature": {{"input_specs": {}, "output_specs": {}}}{}}}, "schema_version": {}{}}})",
                     parts.nodes, parts.graph_inputs, parts.graph_outputs, parts.graph, parts.input_specs,
                     parts.output_specs, parts.module, parts.schema, parts.top);
}

Program program(const Parts& parts) {
  auto read = read_program(json(parts));
  EXPECT_TRUE(read) << read.error().text();
  return read ? *std::move(read) : Program();
}

std::string problem(const Parts& parts) {
  const auto read = read_program(json(parts));
  return read ? "" : read.error().text();
}

std::string node(const std::string& argument) {
  return R"([{"target": "t", "inputs": [{"name": "a", "arg": )" + argument +
         R"(, "kind": 1}], "outputs": [], "metadata": {}}])";
}

template <class T>
T argument(const std::string& text) {
  const Program read = program({.nodes = node(text)});
  if (read.nodes.size() != 1) return {};
  const ArgumentValue& value = read.nodes[0].inputs.at(0).value;
  EXPECT_TRUE(std::holds_alternative<T>(value)) << text << " is alternative " << value.index();
  return std::holds_alternative<T>(value) ? std::get<T>(value) : T{};
}

TEST(Pt2Program, ReadsPlainArguments) {
  argument<None>(R"({"as_none": true})");
  EXPECT_EQ(std::get<std::int64_t>(argument<SymInt>(R"({"as_int": 9223372036854775807})")), 9223372036854775807);
  EXPECT_EQ(argument<double>(R"({"as_float": 2})"), 2.0);
  EXPECT_EQ(argument<double>(R"({"as_float": "-Infinity"})"), -INFINITY);
  EXPECT_TRUE(std::isnan(argument<double>(R"({"as_float": "NaN"})")));
  EXPECT_EQ(argument<bool>(R"({"as_bool": true})"), true);
  EXPECT_EQ(argument<Text>(R"({"as_string": "mean"})").value, "mean");
  EXPECT_EQ(argument<std::complex<double>>(R"({"as_complex": {"real": 1, "imag": "Infinity"}})"),
            std::complex<double>(1, INFINITY));
  EXPECT_EQ(argument<DType>(R"({"as_scalar_type": 13})"), DType::kBF16);
  EXPECT_EQ(argument<MemoryFormat>(R"({"as_memory_format": 2})"), MemoryFormat::kChannelsLast);
  EXPECT_EQ(argument<Layout>(R"({"as_layout": 7})"), Layout::kStrided);
  EXPECT_EQ(argument<Device>(R"({"as_device": {"type": "cuda", "index": 1}})").index, 1);
}

TEST(Pt2Program, ReadsLists) {
  EXPECT_EQ(argument<std::vector<SymInt>>(R"({"as_ints": [1, -2]})").size(), 2u);
  EXPECT_THAT(argument<std::vector<double>>(R"({"as_floats": [1, 2.5, "NaN"]})").at(1), 2.5);
  EXPECT_THAT(argument<std::vector<bool>>(R"({"as_bools": [true, false]})"), ElementsAre(true, false));
  EXPECT_EQ(argument<std::vector<Text>>(R"({"as_strings": ["a", "b"]})").at(1).value, "b");
  EXPECT_EQ(argument<std::vector<std::vector<std::int64_t>>>(R"({"as_int_lists": [[1], [2, 3]]})").at(1).at(1), 3);
  EXPECT_EQ(argument<std::vector<std::vector<double>>>(R"({"as_float_lists": [[], [0.5]]})").at(1).at(0), 0.5);
}

TEST(Pt2Program, ReadsReferences) {
  EXPECT_EQ(argument<TensorRef>(R"({"as_tensor": {"name": "x"}})").name, "x");
  EXPECT_EQ(argument<TensorRefs>(R"({"as_tensors": [{"name": "x"}, {"name": "y"}]})").at(1).name, "y");
  const auto optional =
      argument<OptionalTensorRefs>(R"({"as_optional_tensors": [{"as_none": true}, {"as_tensor": {"name": "x"}}]})");
  EXPECT_FALSE(optional.at(0));
  EXPECT_EQ(optional.at(1)->name, "x");
  argument<None>(R"({"as_optional_tensor": {"as_none": true}})");
  EXPECT_EQ(argument<TensorRef>(R"({"as_optional_tensor": {"as_tensor": {"name": "x"}}})").name, "x");
  EXPECT_EQ(argument<std::vector<TensorRefs>>(R"({"as_nested_tensors": [[{"name": "x"}]]})").at(0).at(0).name, "x");
}

TEST(Pt2Program, ReadsSymbolicArguments) {
  EXPECT_EQ(std::get<SymName>(argument<SymInt>(R"({"as_sym_int": {"as_name": "s"}})")).name, "s");
  const auto sizes = argument<std::vector<SymInt>>(R"({"as_sym_ints": [{"as_name": "mul_1"}, {"as_int": -1}]})");
  EXPECT_EQ(std::get<std::int64_t>(sizes.at(1)), -1);
  EXPECT_EQ(argument<SymFloatRef>(R"({"as_sym_float": {"as_name": "f"}})").name, "f");
  EXPECT_EQ(argument<double>(R"({"as_sym_float": {"as_float": 0.5}})"), 0.5);
  EXPECT_EQ((argument<std::vector<std::variant<double, SymFloatRef>>>(
                 R"({"as_sym_floats": [{"as_float": 1}, {"as_name": "f"}]})"))
                .size(),
            2u);
  EXPECT_EQ(argument<SymBoolRef>(R"({"as_sym_bool": {"as_name": "b"}})").name, "b");
  EXPECT_EQ(argument<bool>(R"({"as_sym_bool": {"as_bool": false}})"), false);
}

TEST(Pt2Program, KeepsTheNameOfWhatItDoesNotRead) {
  EXPECT_EQ(argument<Unreadable>(R"({"as_custom_obj": {"name": "o", "class_fqn": "c"}})").name, "o");
  EXPECT_EQ(argument<Unreadable>(R"({"as_operator": "aten.add"})").name, "aten.add");
  EXPECT_EQ(argument<Unreadable>(R"({"as_string_to_argument": {"k": {"as_int": 1}}})").kind, "as_string_to_argument");
  EXPECT_EQ(argument<Unreadable>(R"({"as_something_new": [1]})").kind, "as_something_new");
}

TEST(Pt2Program, ReadsSpecs) {
  const Program read = program({
      .graph_inputs = R"([{}, {}, {}, {}, {}, {}, {}])",
      .input_specs = R"([{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "l.w"}},
                         {"buffer": {"arg": {"name": "b_x"}, "buffer_name": "x", "persistent": false}},
                         {"buffer": {"arg": {"name": "b_y"}, "buffer_name": "y"}},
                         {"tensor_constant": {"arg": {"name": "c"}, "tensor_constant_name": "lifted_tensor_0"}},
                         {"user_input": {"arg": {"as_tensor": {"name": "x"}}}},
                         {"constant_input": {"name": "scale", "value": {"as_float": 1.5}}},
                         {"custom_obj": {"arg": {"name": "o"}, "custom_obj_name": "obj"}}])",
      .graph_outputs = R"([{}, {}, {}])",
      .output_specs = R"([{"buffer_mutation": {"arg": {"name": "add"}, "buffer_name": "x"}},
                          {"user_output": {"arg": {"as_none": true}}},
                          {"user_output": {"arg": {"as_int": 7}}}])",
  });
  ASSERT_EQ(read.inputs.size(), 7u);
  EXPECT_EQ(read.inputs[0].kind, InputKind::kParameter);
  EXPECT_EQ(read.inputs[0].target, "l.w");
  EXPECT_EQ(std::get<TensorRef>(read.inputs[0].value).name, "p_w");
  EXPECT_FALSE(read.inputs[1].is_persistent);
  EXPECT_TRUE(read.inputs[2].is_persistent);
  EXPECT_EQ(read.inputs[3].kind, InputKind::kTensorConstant);
  EXPECT_EQ(read.inputs[4].kind, InputKind::kUser);
  EXPECT_EQ(read.inputs[5].name, "scale");
  EXPECT_EQ(std::get<double>(read.inputs[5].value), 1.5);
  EXPECT_EQ(read.inputs[6].kind, InputKind::kCustomObject);
  ASSERT_EQ(read.outputs.size(), 3u);
  EXPECT_EQ(read.outputs[0].kind, OutputKind::kBufferMutation);
  EXPECT_EQ(read.outputs[0].target, "x");
  EXPECT_TRUE(std::holds_alternative<None>(read.outputs[1].value));
}

TEST(Pt2Program, ReadsTensorsAndSymbols) {
  const Program read = program({
      .graph = R"(, "tensor_values": {"x": {
            "dtype": 7, "requires_grad": true, "device": {"type": "cpu", "index": null}, "layout": 7,
            "sizes": [{"as_expr": {"expr_str": "s77", "hint": {"as_int": 3}}}, {"as_int": 4}],
            "strides": [{"as_int": 4}, {"as_int": 1}], "storage_offset": {"as_int": 2}, "something_new": 1}},
          "sym_int_values": {"s": {"as_expr": {"expr_str": "u0", "hint": null}}, "n": {"as_int": 5}},
          "sym_float_values": {"f": {"as_float": 0.5}}, "sym_bool_values": {"b": {"as_bool": true}})",
      .top =
          R"(, "range_constraints": {"s77": {"min_val": 2, "max_val": null}, "4*s94": {"min_val": 8, "max_val": 32}})",
      .module = R"(, "module_call_graph": [{"fqn": "a"}, {"fqn": "", "signature": {"forward_arg_names": ["x", "y"]}}])",
  });
  const TensorMeta& meta = read.tensors.at("x");
  EXPECT_EQ(std::get<SymExpr>(meta.sizes.at(0)).hint, 3);
  EXPECT_EQ(std::get<std::int64_t>(meta.storage_offset), 2);
  EXPECT_TRUE(meta.requires_grad);
  EXPECT_EQ(std::get<SymExpr>(read.sym_ints.at("s")).text, "u0");
  EXPECT_EQ(read.sym_floats.at("f").text, "0.5");
  EXPECT_EQ(read.sym_bools.at("b").text, "True");
  ASSERT_EQ(read.ranges.size(), 2u);
  EXPECT_EQ(read.ranges[0].first, "4*s94");
  EXPECT_EQ(read.ranges[0].second.max, 32);
  EXPECT_EQ(read.ranges[1].second.min, 2);
  EXPECT_FALSE(read.ranges[1].second.max);
  EXPECT_THAT(read.forward_arg_names, ElementsAre("x", "y"));
  EXPECT_EQ(read.torch_version, "<=2.4");
}

TEST(Pt2Program, MetadataNeverStopsTheReader) {
  const Program read = program(
      {.nodes =
           R"([{"target": "t", "inputs": [], "outputs": [], "metadata": {"stack_trace": "s", "odd": 1, "nil": null}}])"});
  EXPECT_EQ(read.nodes.at(0).metadata.size(), 1u);
  EXPECT_EQ(program({.nodes = R"([{"target": "t", "inputs": [], "outputs": []}])"}).nodes.size(), 1u);
}

TEST(Pt2Program, ErrorsNameTheirPlace) {
  EXPECT_EQ(problem({.nodes = node(R"({"as_int": "x"})")}),
            "graph_module.graph.nodes[0].inputs[0].arg.as_int: expected a 64-bit integer, got \"x\"");
  EXPECT_THAT(problem({.nodes = node(R"({"as_int": 1, "as_float": 1})")}),
              HasSubstr("inputs[0].arg: expected an object with exactly one key"));
  EXPECT_THAT(problem({.nodes = node(R"({"as_scalar_type": 99})")}),
              HasSubstr("the number of a known element type, got 99"));
  EXPECT_THAT(problem({.nodes = node(R"({"as_memory_format": -1})")}), HasSubstr("memory format"));
  EXPECT_THAT(problem({.nodes = node(R"({"as_float": "seven"})")}), HasSubstr("expected a number, \"Infinity\""));
  EXPECT_THAT(problem({.nodes = node(R"({"as_sym_int": {"as_float": 1}})")}),
              HasSubstr("expected as_int, as_name or as_expr"));
  EXPECT_EQ(problem({.nodes = R"([{"inputs": []}])"}), "graph_module.graph.nodes[0]: key \"target\" is missing");
  EXPECT_THAT(problem({.graph = R"(, "tensor_values": {"a.b": {}})"}),
              HasSubstr("tensor_values[\"a.b\"]: key \"dtype\" is missing"));
  EXPECT_THAT(problem({.graph_inputs = "[{}]"}), HasSubstr("input_specs: 0 specs for 1 inputs of the graph"));
  EXPECT_THAT(problem({.graph_outputs = "[{}]"}), HasSubstr("output_specs: 0 specs for 1 outputs of the graph"));
  EXPECT_THAT(problem({.graph_inputs = "[{}]", .input_specs = R"([{"oracle": {}}])"}),
              HasSubstr("input_specs[0].oracle: an unknown kind of input"));
}

TEST(Pt2Program, RefusesOtherSchemas) {
  EXPECT_THAT(problem({.schema = R"({"major": 7, "minor": 1})"}),
              HasSubstr("schema version 7 is not supported, only 8"));
  EXPECT_THAT(problem({.schema = "{}"}), HasSubstr("schema_version: key \"major\" is missing"));
  EXPECT_EQ(problem({.schema = R"({"major": 8, "minor": 999})"}), "");
  EXPECT_THAT(read_program("[]").error().text(), HasSubstr("top level: expected an object, got an array"));
}

}  // namespace
}  // namespace isthmus::pt2::pt2_program_test
