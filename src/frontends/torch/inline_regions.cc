// Copies the nodes of subgraphs into the program, under names of their own.
#include "frontends/torch/inline_regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "frontends/torch/load.h"
#include "frontends/torch/origin.h"
#include "ir/literals.h"

namespace isthmus {
namespace {

using Region = std::shared_ptr<const pt2::Subgraph>;
using Names = std::map<std::string, std::string, std::less<>>;  // of a subgraph, as the program calls them
using Arguments = std::vector<pt2::ArgumentValue>;

// Visits every name of a value in an argument.
struct EachName {
  std::function<void(std::string&)> use;

  void operator()(pt2::TensorRef& tensor) const { use(tensor.name); }
  void operator()(pt2::SymName& symbol) const { use(symbol.name); }
  void operator()(pt2::SymFloatRef& symbol) const { use(symbol.name); }
  void operator()(pt2::SymBoolRef& symbol) const { use(symbol.name); }
  void operator()(std::vector<bool>&) const {}
  template <class Item>
  void operator()(std::vector<Item>& items) const {
    for (Item& item : items) (*this)(item);
  }
  template <class Item>
  void operator()(std::optional<Item>& item) const {
    if (item) (*this)(*item);
  }
  template <class... Kinds>
  void operator()(std::variant<Kinds...>& held) const {
    std::visit(*this, held);
  }
  template <class Literal>
  void operator()(Literal&) const {}
};

// One argument for each tensor and scalar of a list.
void flatten(const pt2::ArgumentValue& argument, Arguments& leaves) {
  if (const auto* tensors = std::get_if<pt2::TensorRefs>(&argument)) {
    leaves.insert(leaves.end(), tensors->begin(), tensors->end());
  } else if (const auto* optional = std::get_if<pt2::OptionalTensorRefs>(&argument)) {
    for (const auto& tensor : *optional) leaves.push_back(tensor ? pt2::ArgumentValue(*tensor) : pt2::None{});
  } else if (const auto* numbers = std::get_if<std::vector<pt2::SymInt>>(&argument)) {
    leaves.insert(leaves.end(), numbers->begin(), numbers->end());
  } else {
    leaves.push_back(argument);
  }
}
Arguments flattened(const Arguments& arguments) {
  Arguments leaves;
  for (const pt2::ArgumentValue& argument : arguments) flatten(argument, leaves);
  return leaves;
}

const std::string* name_in(const pt2::ArgumentValue& argument) {
  if (const auto* tensor = std::get_if<pt2::TensorRef>(&argument)) return &tensor->name;
  const auto* number = std::get_if<pt2::SymInt>(&argument);
  const auto* symbol = number == nullptr ? nullptr : std::get_if<pt2::SymName>(number);
  return symbol == nullptr ? nullptr : &symbol->name;
}

const Region* region_in(const pt2::Argument& argument) { return std::get_if<Region>(&argument.value); }
bool has_region(const pt2::Node& node) {
  return std::ranges::any_of(node.inputs, [](const pt2::Argument& argument) { return region_in(argument) != nullptr; });
}

// Nodes that run their one subgraph once, whatever the numbers are: operands follow it.
struct Wrapper {
  std::string_view target;
  std::size_t lowers_precision = 0;  // the argument, where it has one, that must be false
};
constexpr Wrapper kWrappers[] = {
    {"higher_order.wrap_with_set_grad_enabled"},
    {"higher_order.wrap_with_autocast", 2},
    {"higher_order.wrap_activation_checkpoint"},
    {"higher_order.tag_activation_checkpoint"},
    {"higher_order.wrap"},
    {"higher_order.strict_mode"},
    {"higher_order.invoke_subgraph"},
};

class Inliner {
 public:
  explicit Inliner(pt2::Program program) : program_(std::move(program)) {}

  Expected<pt2::Program> whole() {
    std::vector<pt2::Node> nodes = std::exchange(program_.nodes, {});
    Names names;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto place = [&] { return archive_node_text(i, nodes[i]); };
      TRY(within(add(nodes[i], names), place));
    }
    for (pt2::OutputSpec& output : program_.outputs) rename(output.value, names);
    return std::move(program_);
  }

 private:
  static void rename(pt2::ArgumentValue& argument, const Names& names) {
    EachName{[&](std::string& name) {
      if (const auto known = names.find(name); known != names.end()) name = known->second;
    }}(argument);
  }

  // A node of the program or of a subgraph, whose names mean what `names` says.
  Expected<void> add(pt2::Node node, Names& names) {
    for (pt2::Argument& argument : node.inputs) rename(argument.value, names);
    if (has_region(node)) return add_region(node, names);
    for (pt2::ArgumentValue& output : node.outputs) rename(output, names);
    program_.nodes.push_back(std::move(node));
    return {};
  }

  Expected<void> add_region(const pt2::Node& node, Names& names) {
    const std::string target = short_target(node.target);
    if (node.target == kBranchTarget) return add_branches(node, names);
    const auto* const wrapper = std::ranges::find(kWrappers, target, &Wrapper::target);
    if (wrapper == std::end(kWrappers)) {
      return fail(ErrorKind::kUnsupported,
                  "control flow cannot be compiled: the number of iterations depends on data. Write the loop with a "
                  "fixed number of steps, so that torch.export unrolls it, or export one step as a model");
    }
    if (wrapper->lowers_precision != 0) TRY(demand_off(node, wrapper->lowers_precision));
    const auto region = std::ranges::find_if(node.inputs, region_in);
    Arguments operands;
    for (auto argument = region + 1; argument != node.inputs.end(); ++argument) {
      if (!std::holds_alternative<pt2::Text>(argument->value)) flatten(argument->value, operands);
    }
    const Arguments results = TRY(inline_one(**region_in(*region), operands));
    const Arguments outputs = flattened(node.outputs);
    TRY(demand_same_count(results, outputs));
    // What the node calls its results are now the names of the subgraph's.
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::string* outer = name_in(outputs[i]);
      const std::string* inner = name_in(results[i]);
      if (outer != nullptr && inner != nullptr) names[*outer] = *inner;
    }
    return {};
  }

  static Expected<void> demand_off(const pt2::Node& node, std::size_t i) {
    const bool* is_on = i < node.inputs.size() ? std::get_if<bool>(&node.inputs[i].value) : nullptr;
    if (is_on == nullptr) return bad_input(fmt::format("argument {} is not a bool", i));
    if (!*is_on) return {};
    return fail(
        ErrorKind::kUnsupported,
        "autocast is on here, so PyTorch computes in a narrower float type; export the model without torch.autocast");
  }

  static Expected<void> demand_same_count(const Arguments& found, const Arguments& expected) {
    if (found.size() == expected.size()) return {};
    return bad_input(fmt::format("its subgraph has {} results, the node {}", found.size(), expected.size()));
  }

  // (predicate, if true, if false, operands)
  Expected<void> add_branches(const pt2::Node& node, const Names& names) {
    if (node.inputs.size() < 3 || region_in(node.inputs[1]) == nullptr || region_in(node.inputs[2]) == nullptr) {
      return bad_input("a condition is expected to take a predicate, two subgraphs and their operands");
    }
    Arguments operands;
    for (std::size_t i = 3; i < node.inputs.size(); ++i) flatten(node.inputs[i].value, operands);
    const Arguments if_true = TRY(inline_one(**region_in(node.inputs[1]), operands));
    const Arguments if_false = TRY(inline_one(**region_in(node.inputs[2]), operands));
    Arguments outputs = flattened(node.outputs);
    TRY(demand_same_count(if_true, outputs));
    TRY(demand_same_count(if_false, outputs));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (name_in(outputs[i]) == nullptr) continue;
      rename(outputs[i], names);
      program_.nodes.push_back(
          {.target = kBranchTarget,
           .inputs = {{"pred", node.inputs[0].value}, {"if_true", if_true[i]}, {"if_false", if_false[i]}},
           .outputs = {outputs[i]},
           .metadata = node.metadata});
    }
    return {};
  }

  // The nodes of a subgraph; its results, by the program's names.
  Expected<Arguments> inline_one(const pt2::Subgraph& region, const Arguments& operands) {
    if (operands.size() != region.inputs.size()) {
      return bad_input(fmt::format("{} operands for {} inputs of the subgraph {}", operands.size(),
                                   region.inputs.size(), region.name));
    }
    Names names;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::string* formal = name_in(region.inputs[i]);
      const std::string* actual = name_in(operands[i]);
      if (formal == nullptr) continue;
      if (actual == nullptr)
        return bad_input(fmt::format("{} of the subgraph {} is not a value", *formal, region.name));
      names.emplace(*formal, *actual);
    }
    adopt(region.tensors, program_.tensors, names);
    adopt(region.sym_ints, program_.sym_ints, names);
    adopt(region.sym_floats, program_.sym_floats, names);
    adopt(region.sym_bools, program_.sym_bools, names);
    for (const pt2::Node& node : region.nodes) TRY(add(node, names));
    Arguments results = flattened(region.outputs);
    for (pt2::ArgumentValue& result : results) rename(result, names);
    return results;
  }

  // What the subgraph says of its values, under names that the program does not have.
  template <class Meta>
  void adopt(const std::map<std::string, Meta, std::less<>>& from, std::map<std::string, Meta, std::less<>>& to,
             Names& names) {
    for (const auto& [name, meta] : from) {
      if (names.contains(name)) continue;
      std::string fresh = name;
      while (is_taken(fresh)) fresh = fmt::format("{}_region_{}", name, ++renamed_);
      names.emplace(name, fresh);
      to.emplace(std::move(fresh), meta);
    }
  }

  bool is_taken(const std::string& name) const {
    return program_.tensors.contains(name) || program_.sym_ints.contains(name) || program_.sym_floats.contains(name) ||
           program_.sym_bools.contains(name);
  }

  pt2::Program program_;
  std::size_t renamed_ = 0;
};

}  // namespace

Expected<pt2::Program> inline_regions(pt2::Program program) { return Inliner(std::move(program)).whole(); }

bool has_regions(const pt2::Program& program) { return std::ranges::any_of(program.nodes, has_region); }

}  // namespace isthmus
