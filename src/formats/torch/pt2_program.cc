// Reads an exported program's JSON: nodes, tensors, symbols, signature.
#include "formats/torch/pt2_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/json.h"
#include "formats/torch/pt2_values.h"
#include "formats/versions.h"

namespace isthmus::pt2 {
namespace {

using json::Value;

Expected<Argument> read_named_argument(Value value) {
  Argument argument;
  argument.name = TRY(read_text(TRY(value.get("name"))));
  argument.value = TRY(read_argument(TRY(value.get("arg"))));
  return argument;
}

Expected<Node> read_node(Value value) {
  Node node;
  node.target = TRY(read_text(TRY(value.get("target"))));
  node.inputs = TRY(json::read_each(TRY(value.get("inputs")), read_named_argument));
  node.outputs = TRY(json::read_each(TRY(value.get("outputs")), read_argument));
  if (const auto metadata = TRY(value.find("metadata"))) {
    for (const Value member : TRY(metadata->members())) {
      // It only serves messages, so a file is not refused for what is odd in it.
      if (member.kind() == json::Kind::kString) node.metadata.emplace(member.key(), TRY(member.as_text()));
    }
  }
  return node;
}

// An optional object as a map; keys are known to be unique.
template <class T>
Expected<void> read_map(Value graph, std::string_view key, Expected<T> (*read)(Value),
                        std::map<std::string, T, std::less<>>& map) {
  const auto found = TRY(graph.find(key));
  if (!found) return {};
  for (const Value member : TRY(found->members())) map.emplace(member.key(), TRY(read(member)));
  return {};
}

// The placeholder of a parameter, buffer or constant: {"arg": {"name": "p_l_weight"}}.
Expected<ArgumentValue> read_placeholder(Value spec) {
  return ArgumentValue(TensorRef{TRY(read_text(TRY(TRY(spec.get("arg")).get("name"))))});
}

Expected<InputSpec> read_input_spec(Value value) {
  const Value spec = TRY(value.only_member());
  const std::string_view kind = spec.key();
  InputSpec input;
  if (kind == "user_input") {
    input.value = TRY(read_argument(TRY(spec.get("arg"))));
  } else if (kind == "constant_input") {
    input.kind = InputKind::kScalarConstant;
    input.name = TRY(read_text(TRY(spec.get("name"))));
    input.value = TRY(read_argument(TRY(spec.get("value"))));
  } else if (kind == "parameter") {
    input.kind = InputKind::kParameter;
    input.value = TRY(read_placeholder(spec));
    input.target = TRY(read_text(TRY(spec.get("parameter_name"))));
  } else if (kind == "buffer") {
    input.kind = InputKind::kBuffer;
    input.value = TRY(read_placeholder(spec));
    input.target = TRY(read_text(TRY(spec.get("buffer_name"))));
    if (const auto persistent = TRY(spec.find("persistent"))) input.is_persistent = TRY(persistent->as_bool());
  } else if (kind == "tensor_constant") {
    input.kind = InputKind::kTensorConstant;
    input.value = TRY(read_placeholder(spec));
    input.target = TRY(read_text(TRY(spec.get("tensor_constant_name"))));
  } else if (kind == "custom_obj") {
    input.kind = InputKind::kCustomObject;
    input.value = TRY(read_placeholder(spec));
    input.target = TRY(read_text(TRY(spec.get("custom_obj_name"))));
  } else if (kind == "token") {
    input.kind = InputKind::kToken;
    input.value = TRY(read_placeholder(spec));
  } else {
    return spec.error("an unknown kind of input", ErrorKind::kUnsupported);
  }
  return input;
}

struct OutputRow {
  std::string_view key;
  OutputKind kind;
  std::string_view target;  // the key of what is changed, if any
};
constexpr OutputRow kOutputKinds[] = {
    {"user_output", OutputKind::kUser, ""},
    {"loss_output", OutputKind::kLoss, ""},
    {"buffer_mutation", OutputKind::kBufferMutation, "buffer_name"},
    {"user_input_mutation", OutputKind::kInputMutation, "user_input_name"},
    {"parameter_mutation", OutputKind::kParameterMutation, "parameter_name"},
    {"gradient_to_parameter", OutputKind::kGradient, "parameter_name"},
    {"gradient_to_user_input", OutputKind::kGradient, "user_input_name"},
    {"token", OutputKind::kToken, ""},
};

Expected<OutputSpec> read_output_spec(Value value) {
  const Value spec = TRY(value.only_member());
  const auto* const row = std::ranges::find(kOutputKinds, spec.key(), &OutputRow::key);
  if (row == std::end(kOutputKinds)) return spec.error("an unknown kind of output", ErrorKind::kUnsupported);
  OutputSpec output;
  output.kind = row->kind;
  if (row->kind == OutputKind::kUser) {
    output.value = TRY(read_argument(TRY(spec.get("arg"))));
  } else {
    output.value = TRY(read_placeholder(spec));
  }
  if (!row->target.empty()) output.target = TRY(read_text(TRY(spec.get(row->target))));
  return output;
}

Expected<std::size_t> count_elements(Value array) {
  const json::Children elements = TRY(array.elements());
  return static_cast<std::size_t>(std::distance(elements.begin(), elements.end()));
}

// The signature tells what the graph's inputs and outputs are; the graph's own lists must be as long.
Expected<void> read_signature(Value signature, Value graph, Program& program) {
  const Value inputs = TRY(signature.get("input_specs"));
  const Value outputs = TRY(signature.get("output_specs"));
  program.inputs = TRY(json::read_each(inputs, read_input_spec));
  program.outputs = TRY(json::read_each(outputs, read_output_spec));
  const std::size_t graph_inputs = TRY(count_elements(TRY(graph.get("inputs"))));
  const std::size_t graph_outputs = TRY(count_elements(TRY(graph.get("outputs"))));
  if (graph_inputs != program.inputs.size()) {
    return inputs.error(fmt::format("{} specs for {} inputs of the graph", program.inputs.size(), graph_inputs));
  }
  if (graph_outputs != program.outputs.size()) {
    return outputs.error(fmt::format("{} specs for {} outputs of the graph", program.outputs.size(), graph_outputs));
  }
  return {};
}

Expected<void> read_ranges(Value top, Program& program) {
  const auto ranges = TRY(top.find("range_constraints"));
  if (!ranges) return {};
  for (const Value member : TRY(ranges->members())) {
    Range range;
    if (const auto min = TRY(member.find("min_val"))) range.min = TRY(min->as_integer());
    if (const auto max = TRY(member.find("max_val"))) range.max = TRY(max->as_integer());
    program.ranges.emplace_back(member.key(), range);
  }
  std::ranges::sort(program.ranges, {}, &std::pair<std::string, Range>::first);
  return {};
}

// The names of the root module's arguments; older files do not say them.
Expected<void> read_argument_names(Value module, Program& program) {
  const auto calls = TRY(module.find("module_call_graph"));
  if (!calls) return {};
  for (const Value call : TRY(calls->elements())) {
    const auto fqn = TRY(call.find("fqn"));
    if (!fqn || !TRY(fqn->as_text()).empty()) continue;
    const auto signature = TRY(call.find("signature"));
    const auto names = signature ? TRY(signature->find("forward_arg_names")) : std::nullopt;
    if (names) program.forward_arg_names = TRY(json::read_each(*names, read_text));
    return {};
  }
  return {};
}

Expected<void> read_versions(Value top, Program& program) {
  const Value version = TRY(top.get("schema_version"));
  const Value major = TRY(version.get("major"));
  program.schema_major = TRY(major.as_integer());
  if (const auto minor = TRY(version.find("minor"))) program.schema_minor = TRY(minor->as_integer());
  if (program.schema_major != kTorchSchema) {
    return major.error(fmt::format("schema version {} is not supported, only {}: export the model with a newer torch",
                                   program.schema_major, kTorchSchema),
                       ErrorKind::kUnsupported);
  }
  const auto torch_version = TRY(top.find("torch_version"));
  program.torch_version = torch_version ? TRY(read_text(*torch_version)) : "<=2.4";
  return {};
}

}  // namespace

Expected<void> read_body(Value graph, Body& body) {
  body.nodes = TRY(json::read_each(TRY(graph.get("nodes")), read_node));
  TRY(read_map(graph, "tensor_values", read_tensor_meta, body.tensors));
  TRY(read_map(graph, "sym_int_values", read_sym_int, body.sym_ints));
  TRY(read_map(graph, "sym_float_values", read_sym_text, body.sym_floats));
  return read_map(graph, "sym_bool_values", read_sym_text, body.sym_bools);
}

Expected<Program> read_program(std::string_view json_text) {
  const json::Document document = TRY(json::Document::parse(json_text));
  const Value top = document.root();
  Program program;
  TRY(read_versions(top, program));
  const Value module = TRY(top.get("graph_module"));
  const Value graph = TRY(module.get("graph"));
  TRY(read_body(graph, program));
  TRY(read_signature(TRY(module.get("signature")), graph, program));
  TRY(read_ranges(top, program));
  TRY(read_argument_names(module, program));
  return program;
}

}  // namespace isthmus::pt2
