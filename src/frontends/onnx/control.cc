// Branches and loops whose course is known, and functions: all of them become the nodes that they run.
#include <fmt/format.h>

#include "base/untrusted_text.h"
#include "frontends/onnx/loader.h"

namespace isthmus::onnx {
namespace {

constexpr std::size_t kMaxDepth = 64;

tl::unexpected<Error> real_control_flow(std::string_view what) {
  return fail(ErrorKind::kUnsupported,
              fmt::format("{} is known only when the model runs: control flow cannot be compiled. Export the model for "
                          "fixed sizes, or each branch as a model of its own",
                          what));
}

TensorView scalar_view(DType dtype, std::int64_t value) {
  std::vector<std::byte> bytes(size_of(dtype));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
  }
  return {dtype, {}, {}, 0, Blob::owning(std::move(bytes))};
}

ArgValue number(std::int64_t value) { return ArgValue{Dim(value)}; }

}  // namespace

Expected<Loader::Entities> Loader::structure(OnnxStructure kind, const Visit& visit) {
  switch (kind) {
    case OnnxStructure::kIf:
      return branch(visit);
    case OnnxStructure::kLoop:
      return loop(visit);
    case OnnxStructure::kScan:
      return scan(visit);
    case OnnxStructure::kSequenceMap:
      return sequence_map(visit);
    case OnnxStructure::kSplitToSequence:
      return split_to_sequence(visit);
    default:
      return sequence(kind, visit);
  }
}

Expected<Loader::Entities> Loader::inlined(const Graph& graph, const Entities& inputs) {
  if (inputs.size() < graph.inputs.size()) {
    return bad_input(fmt::format("{} inputs are given, the graph inside takes {}", inputs.size(), graph.inputs.size()));
  }
  if (++depth_ > kMaxDepth) return bad_input("graphs are nested too deeply");
  scopes_.emplace_back();
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) scopes_.back().emplace(graph.inputs[i].name, inputs[i]);
  TRY(load_initializers(graph));
  TRY(load_nodes(graph.nodes));
  Entities results;
  for (const ValueInfo& output : graph.outputs) results.push_back(TRY(entity(output.name)));
  scopes_.pop_back();
  --depth_;
  return results;
}

Expected<Loader::Entities> Loader::branch(const Visit& visit) {
  const GraphRef yes = visit.graph("then_branch");
  const GraphRef no = visit.graph("else_branch");
  if (yes == nullptr || no == nullptr) return bad_input("a branch is missing");
  const auto predicate = known_integer(TRY(input(visit, 0)));
  if (!predicate) return real_control_flow("its condition");
  return inlined(*predicate != 0 ? *yes : *no, {});
}

Expected<Entity> Loader::stacked(const Visit& visit, const Entities& tensors) {
  return made_call(visit, kOnnxStack, {{"axis", number(0)}}, tensors, "inputs...");
}

Expected<Entity> Loader::selected(const Visit& visit, const Entity& tensor, std::int64_t axis, std::int64_t start,
                                  std::int64_t size, bool keepdims) {
  return made_call(visit, kOnnxSelect,
                   {{"axis", number(axis)},
                    {"start", number(start)},
                    {"size", number(size)},
                    {"keepdims", number(keepdims ? 1 : 0)}},
                   {tensor}, "input");
}

// Inputs are a trip count, a condition and what is carried from turn to turn; the body also makes what is stacked.
Expected<Loader::Entities> Loader::loop(const Visit& visit) {
  constexpr std::int64_t kMaxTurns = 4096;
  const GraphRef body = visit.graph("body");
  if (body == nullptr) return bad_input("the body is missing");
  const Entity count = TRY(input(visit, 0));
  const Entity condition = TRY(input(visit, 1));
  const bool has_count = !std::holds_alternative<NoEntity>(count.value);
  const auto turns = known_integer(count);
  if (has_count && !turns) return real_control_flow("its trip count");
  std::int64_t goes_on = 1;
  if (!std::holds_alternative<NoEntity>(condition.value)) {
    const auto known = known_integer(condition);
    if (!known) return real_control_flow("its condition");
    goes_on = *known;
  }
  Entities carried;
  for (std::size_t i = 2; i < visit.node.inputs.size(); ++i) carried.push_back(TRY(input(visit, i)));
  if (body->outputs.size() < carried.size() + 1) return bad_input("the body returns less than is carried");
  std::vector<Entities> scanned(body->outputs.size() - 1 - carried.size());
  for (std::int64_t turn = 0; goes_on != 0 && (!has_count || turn < *turns); ++turn) {
    if (turn >= kMaxTurns) return fail(ErrorKind::kUnsupported, fmt::format("more than {} turns", kMaxTurns));
    Entities inputs{Entity{constant(scalar_view(DType::kI64, turn), "turn", {})},
                    Entity{constant(scalar_view(DType::kBool, 1), "goes_on", {})}};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    const Entities results = TRY(inlined(*body, inputs));
    const auto known = known_integer(results[0]);
    if (!known) return real_control_flow("whether it goes on");
    goes_on = *known;
    for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = results[i + 1];
    for (std::size_t i = 0; i < scanned.size(); ++i) scanned[i].push_back(results[i + 1 + carried.size()]);
  }
  for (const Entities& list : scanned) {
    if (list.empty()) return fail(ErrorKind::kUnsupported, "a loop without turns that returns what its turns made");
    carried.push_back(TRY(stacked(visit, list)));
  }
  return carried;
}

// Opset 9 and later: states first, then tensors that are taken apart along an axis.
Expected<Loader::Entities> Loader::scan(const Visit& visit) {
  constexpr std::int64_t kMaxTurns = 4096;
  const GraphRef body = visit.graph("body");
  if (body == nullptr) return bad_input("the body is missing");
  if (opset({}) < 9) return fail(ErrorKind::kUnsupported, "this operator as opset 8 has it");
  for (const char* name : {"scan_input_axes", "scan_output_axes", "scan_input_directions", "scan_output_directions"}) {
    const Attribute* attribute = visit.find(name);
    const auto* list = attribute == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(&attribute->value);
    if (list != nullptr && std::ranges::any_of(*list, [](std::int64_t number_of) { return number_of != 0; })) {
      return fail(ErrorKind::kUnsupported, fmt::format("{} other than 0", name));
    }
  }
  const auto count = static_cast<std::size_t>(visit.integer("num_scan_inputs", 0));
  const std::size_t given = visit.node.inputs.size();
  if (count < 1 || count > given) return bad_input("no input is taken apart");
  Entities states;
  for (std::size_t i = 0; i + count < given; ++i) states.push_back(TRY(input(visit, i)));
  const TensorEntity first = TRY(tensor(visit, given - count));
  const Shape& shape = inner_.type(first.inner).shape;
  if (shape.empty() || !shape[0].is_fixed()) return real_control_flow("its number of turns");
  const std::int64_t turns = shape[0].value();
  if (turns > kMaxTurns) return fail(ErrorKind::kUnsupported, fmt::format("more than {} turns", kMaxTurns));
  if (body->outputs.size() < states.size() || turns < 1) return bad_input("the body returns less than is carried");
  std::vector<Entities> scanned(body->outputs.size() - states.size());
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    Entities inputs = states;
    for (std::size_t i = given - count; i < given; ++i) {
      inputs.push_back(TRY(selected(visit, TRY(input(visit, i)), 0, turn, 1, false)));
    }
    const Entities results = TRY(inlined(*body, inputs));
    for (std::size_t i = 0; i < states.size(); ++i) states[i] = results[i];
    for (std::size_t i = 0; i < scanned.size(); ++i) scanned[i].push_back(results[i + states.size()]);
  }
  for (const Entities& list : scanned) states.push_back(TRY(stacked(visit, list)));
  return states;
}

Expected<Loader::Entities> Loader::call_function(const Function& function, const Visit& visit) {
  if (++depth_ > kMaxDepth) return bad_input("functions call each other too deeply");
  Scope scope;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) scope.emplace(function.inputs[i], TRY(input(visit, i)));
  std::vector<const Attribute*> attributes = visit.attributes;
  for (const Attribute& given : function.defaults) {
    if (visit.find(given.name) == nullptr) attributes.push_back(&given);
  }
  // A function sees its own names only.
  std::vector<Scope> around = std::exchange(scopes_, {});
  scopes_.push_back(std::move(scope));
  function_attributes_.push_back(std::move(attributes));
  opsets_.push_back(&function.opsets);
  TRY(load_nodes(function.nodes));
  Entities results;
  for (const std::string& output : function.outputs) results.push_back(TRY(entity(output)));
  opsets_.pop_back();
  function_attributes_.pop_back();
  scopes_ = std::move(around);
  --depth_;
  return results;
}

}  // namespace isthmus::onnx
