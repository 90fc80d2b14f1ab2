// Branches and loops whose course is known, and functions: all of them become the nodes that they run.
#include <fmt/format.h>

#include <algorithm>

#include "base/untrusted_text.h"
#include "frontends/onnx/loader.h"

namespace isthmus::onnx {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::int64_t kMaxTurns = 4096;

tl::unexpected<Error> real_control_flow(std::string_view what) {
  return fail(
      ErrorKind::kUnsupported,
      fmt::format(
          "{} is known only at run time: control flow cannot be compiled. If it depends on shapes or on an input that "
          "never changes, fix these with --shape or --constant; otherwise export each branch as a separate model",
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

// Of a list attribute of Scan: that of one of its inputs or outputs.
std::int64_t item_of(const Attribute* attribute, std::size_t i) {
  const auto* list = attribute == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(&attribute->value);
  return list != nullptr && i < list->size() ? (*list)[i] : 0;
}

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

Expected<Entity> Loader::stacked(const Visit& visit, const Entities& tensors, std::int64_t axis) {
  return made_call(visit, kOnnxStack, {{"axis", number(axis)}}, tensors, "inputs...");
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
  if (body->outputs.size() < carried.size() + 1) return bad_input("the body returns fewer values than it carries");
  std::vector<Entities> scanned(body->outputs.size() - 1 - carried.size());
  for (std::int64_t turn = 0; goes_on != 0 && (!has_count || turn < *turns); ++turn) {
    if (turn >= kMaxTurns) return fail(ErrorKind::kUnsupported, fmt::format("more than {} iterations", kMaxTurns));
    Entities inputs{Entity{constant(scalar_view(DType::kI64, turn), "turn", {})},
                    Entity{constant(scalar_view(DType::kBool, 1), "goes_on", {})}};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    const Entities results = TRY(inlined(*body, inputs));
    const auto known = known_integer(results[0]);
    if (!known) return real_control_flow("its condition");
    goes_on = *known;
    for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = results[i + 1];
    for (std::size_t i = 0; i < scanned.size(); ++i) scanned[i].push_back(results[i + 1 + carried.size()]);
  }
  for (const Entities& list : scanned) {
    if (list.empty()) return fail(ErrorKind::kUnsupported, "a loop without iterations returns results of an iteration");
    carried.push_back(TRY(stacked(visit, list, 0)));
  }
  return carried;
}

// States first, then tensors that are taken apart along an axis. In opset 8 each item of a batch is a scan of its own.
Expected<Loader::Entities> Loader::scan(const Visit& visit) {
  const GraphRef body = visit.graph("body");
  if (body == nullptr) return bad_input("the body is missing");
  const auto count = static_cast<std::size_t>(visit.integer("num_scan_inputs", 0));
  const bool is_old = opset({}) < 9;
  const std::size_t given = visit.node.inputs.size();
  if (count < 1 || count + (is_old ? 1 : 0) > given) return bad_input("no input is scanned");
  Entities all;
  for (std::size_t i = is_old ? 1 : 0; i < given; ++i) all.push_back(TRY(input(visit, i)));
  if (!is_old) return scan_once(visit, *body, all, count);
  if (!std::holds_alternative<NoEntity>(TRY(input(visit, 0)).value)) {
    return fail(ErrorKind::kUnsupported, "sequences of different lengths");
  }
  const Shape shape = inner_.type(TRY(tensor(visit, given - 1)).inner).shape;
  if (shape.empty() || !shape[0].is_fixed()) return real_control_flow("its number of items");
  if (shape[0].value() < 1 || shape[0].value() > kMaxTurns) return bad_input("a batch of no items");
  std::vector<Entities> results;
  for (std::int64_t item = 0; item < shape[0].value(); ++item) {
    Entities own;
    for (const Entity& entity : all) own.push_back(TRY(selected(visit, entity, 0, item, 1, false)));
    const Entities made = TRY(scan_once(visit, *body, own, count));
    results.resize(made.size());
    for (std::size_t i = 0; i < made.size(); ++i) results[i].push_back(made[i]);
  }
  Entities batches;
  for (const Entities& list : results) batches.push_back(TRY(stacked(visit, list, 0)));
  return batches;
}

// The last `count` tensors are taken apart. In opset 8 the attribute of directions has another name.
Expected<Loader::Entities> Loader::scan_once(const Visit& visit, const Graph& body, const Entities& all,
                                             std::size_t count) {
  const Attribute* axes = visit.find("scan_input_axes");
  const Attribute* ways = visit.find("scan_input_directions");
  if (ways == nullptr) ways = visit.find("directions");
  Entities states(all.begin(), all.end() - static_cast<std::ptrdiff_t>(count));
  const Entities apart(all.end() - static_cast<std::ptrdiff_t>(count), all.end());
  const auto* first = std::get_if<TensorEntity>(&apart[0].value);
  if (first == nullptr) return bad_input("the scanned input is not a tensor");
  const Shape shape = inner_.type(first->inner).shape;
  const std::int64_t axis =
      item_of(axes, 0) < 0 ? item_of(axes, 0) + static_cast<std::int64_t>(shape.size()) : item_of(axes, 0);
  if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size())) return bad_input(fmt::format("axis {}", axis));
  const Dim size = shape[static_cast<std::size_t>(axis)];
  if (!size.is_fixed()) return real_control_flow("its number of iterations");
  const std::int64_t turns = size.value();
  if (turns > kMaxTurns) return fail(ErrorKind::kUnsupported, fmt::format("more than {} iterations", kMaxTurns));
  if (body.outputs.size() < states.size() || turns < 1)
    return bad_input("the body returns fewer values than it carries");
  std::vector<Entities> scanned(body.outputs.size() - states.size());
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    Entities inputs = states;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t at = item_of(ways, i) != 0 ? turns - 1 - turn : turn;
      inputs.push_back(TRY(selected(visit, apart[i], item_of(axes, i), at, 1, false)));
    }
    const Entities results = TRY(inlined(body, inputs));
    for (std::size_t i = 0; i < states.size(); ++i) states[i] = results[i];
    for (std::size_t i = 0; i < scanned.size(); ++i) scanned[i].push_back(results[i + states.size()]);
  }
  for (std::size_t i = 0; i < scanned.size(); ++i) {
    if (item_of(visit.find("scan_output_directions"), i) != 0) std::ranges::reverse(scanned[i]);
    states.push_back(TRY(stacked(visit, scanned[i], item_of(visit.find("scan_output_axes"), i))));
  }
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
