// Plans such graphs in several ways and compares.
#include "support/quantize_laws.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>
#include <sstream>

#include "evaluate/evaluate.h"
#include "evaluate/layer_errors.h"
#include "interpret/integer.h"
#include "interpret/interpreter.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "quantize/plan/structure.h"
#include "quantize/prove/prove.h"
#include "session/stages.h"
#include "support/converted.h"
#include "support/plan_laws.h"
#include "support/random_quant_model.h"
#include "targets/registry.h"

namespace isthmus::test {
namespace {

// Rounding to 8 bits costs this much of every output of a graph whose layers keep the size of their numbers.
constexpr double kMinDb = 12;

const TargetDesc& target() { return *find_target("xnnpack"); }

// Some seeds each: quantized I/O, cuts that come later, and first layers in float: of those that cost the same,
// twins are told apart by their names, so that no made-up statistics go with them.
QuantConfig config_of(unsigned seed) {
  QuantConfig config;
  config.front = seed % 6 == 3 ? 0.2 : 0;
  config.cut_bits = seed % 5 == 0 ? 2.5 : 1.0;
  if (seed % 4 == 1) config.inputs = IoType::kInt8;
  if (seed % 4 == 2) config.outputs = IoType::kUint8;
  return config;
}

Graph prepared_graph(const Graph& graph) {
  Diagnostics diagnostics;
  auto prepared = prepare(graph, {&target(), {}}, diagnostics);
  CHECK(prepared.has_value(), prepared.error().text());
  return std::move(prepared->graph);
}

QuantPlan planned(const Graph& graph, const Statistics& statistics, const QuantConfig& config) {
  Diagnostics diagnostics;
  auto result = plan(graph, target(), &statistics, config, diagnostics);
  CHECK(result.has_value(), result.error().text());
  return std::move(*result);
}

// The lines that only one of the texts has.
std::string difference_of(const std::string& a, const std::string& b) {
  const auto lines = [](const std::string& text) {
    std::multiset<std::string> result;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) result.insert(line);
    return result;
  };
  const auto without = [&](const std::string& from, const std::string& others) {
    const std::multiset<std::string> all = lines(from);
    const std::multiset<std::string> gone = lines(others);
    std::vector<std::string> left;
    std::ranges::set_difference(all, gone, std::back_inserter(left));
    return fmt::format("{}", fmt::join(left, "\n"));
  };
  return without(a, b) + "\n  and\n" + without(b, a);
}

}  // namespace

std::string broken_plan_law(RandomSeed seed) {
  RandomQuantModel model(seed, Widths::kWild);
  const Graph graph = prepared_graph(model.make());
  // Half of them with what really happens in the graph, where movers have the ranges of what they move.
  const bool is_made_up = seed % 2 == 0;
  const Statistics statistics =
      is_made_up ? model.made_up(graph) : observed(graph, {model.inputs(graph), model.inputs(graph)});
  const QuantConfig config = config_of(seed);
  const QuantPlan first = planned(graph, statistics, config);
  const std::string decided = decisions(graph, first);
  const auto broken = [&](std::string_view law, const std::string& how) {
    return fmt::format("{}: {}\n{}", law, how, print(graph));
  };
  const auto compare = [&](std::string_view law, const std::string& other) {
    return other == decided ? std::string() : broken(law, difference_of(decided, other));
  };

  std::string wrong = compare("planning twice", decisions(graph, planned(graph, statistics, config)));
  if (!wrong.empty()) return wrong;
  const Graph shuffled = model.with_other_order(graph);
  const QuantPlan of_shuffled = planned(shuffled, statistics, config);
  wrong = compare("another order of nodes", decisions(shuffled, of_shuffled));
  if (!wrong.empty()) return wrong;
  const auto applied = apply(graph, first, target(), &statistics, config);
  const auto applied_shuffled = apply(shuffled, of_shuffled, target(), &statistics, config);
  if (!applied || !applied_shuffled) return broken("applying", (applied ? applied_shuffled : applied).error().text());
  const std::string computed = computations(graph, *applied);
  const std::string computed_shuffled = computations(shuffled, *applied_shuffled);
  if (computed != computed_shuffled) {
    return broken("another order of nodes, applied", difference_of(computed, computed_shuffled));
  }
  const Graph reversed = RandomQuantModel::with_inputs_reversed(graph);
  wrong = compare("another order of inputs", decisions(reversed, planned(reversed, statistics, config)));
  if (!wrong.empty()) return wrong;
  const Graph other = renamed(graph);
  const QuantPlan of_other = planned(other, renamed(statistics), config);
  // Values that nothing but their names tells apart may change places.
  const auto twins = [](const Graph& of, bool by_structure) {
    return [&of, by_structure, structure = structure_of(of)](ValueId id) {
      return by_structure ? fmt::format("{:x}", structure[id.index]) : of[id].name;
    };
  };
  const auto called = [&](ValueId id) { return other_name(graph[id].name); };
  const std::string expected =
      is_made_up ? decisions(graph, first, called) : decisions(graph, first, twins(graph, true));
  const std::string found = decisions(other, of_other, twins(other, !is_made_up));
  if (found != expected) return broken("other names", difference_of(expected, found));
  if (auto tie = broken_tie(graph, first, target()); !tie.empty()) return broken("a tie", tie);
  if (auto cut = removable_cut(graph, first, target(), config); !cut.empty()) return broken("a cut for nothing", cut);
  if (auto reader = hurt_reader(graph, first, target(), config); !reader.empty()) return broken("no cut", reader);
  if (auto tie = unequal_tie(applied->graph, target()); !tie.empty()) return broken("an applied tie", tie);
  const auto proven = prove(*applied, target(), graph, config);
  return proven ? std::string() : broken("proof", proven.error().text() + "\n" + print(applied->graph));
}

std::string broken_pin_law(RandomSeed seed) {
  const bool is_wild = seed % 3 == 0;
  RandomQuantModel model(seed, is_wild ? Widths::kWild : Widths::kTame);
  const Graph graph = prepared_graph(model.make());
  const Statistics statistics = observed(graph, {model.inputs(graph), model.inputs(graph)});
  QuantConfig config;
  config.front = 0;
  config.widen = 0;  // what stays in float for the outputs' sake comes from statistics, which an archive has not
  const QuantPlan first = planned(graph, statistics, config);
  const Given given = [&](const Graph&, ValueId id) -> std::optional<Pin> {
    const Group* group = first.group(id);
    return group == nullptr ? std::nullopt : std::optional(Pin{group->quant, group->storage});
  };
  const Graph archive = converted(graph, given);
  const auto broken = [&](std::string_view law, const std::string& how) {
    return fmt::format("{}: {}\n{}", law, how, print(archive));
  };
  Diagnostics diagnostics;
  const auto prepared = prepare(archive, {&target(), {}}, diagnostics);
  if (!prepared) return broken("preparing", prepared.error().text());
  const auto quantized = quantize(*prepared, target(), nullptr, config, diagnostics);
  if (!quantized) return broken("quantizing", quantized.error().text());
  if (!quantized->plan.has_ranges) return broken("needs no data", "it has no ranges");
  for (const Diagnostic& said : diagnostics.entries()) {
    if (said.code != "illegal-ratio") continue;
    // Of wild ranges the plan may have left in float what the archive has quantized, with ratios that were not chosen.
    return is_wild ? std::string() : broken("ratios of a plan are legal", said.text);
  }
  for (std::uint32_t i = 0; i < graph.values().size(); ++i) {
    const auto pin = given(graph, ValueId{i});
    const auto again = quantized->model.find(graph.values()[i].name);
    const Group* group = again ? quantized->plan.group(*again) : nullptr;
    // What shares may have the parameters of either side, and a rescale on the other.
    const Node* maker = graph.producer(ValueId{i});
    if (maker != nullptr && must_share(target().integers, maker->op)) continue;
    if (!pin || group == nullptr || group->quant == pin->quant) continue;
    return broken("the same parameters",
                  fmt::format("%{} has scale {} zp {}, had {} zp {}", graph.values()[i].name, group->quant.scale(),
                              group->quant.zero_point, pin->quant.scale(), pin->quant.zero_point));
  }
  return {};
}

std::string broken_partial_pin_law(RandomSeed seed) {
  RandomQuantModel model(seed, seed % 3 == 0 ? Widths::kWild : Widths::kTame);
  const Graph graph = prepared_graph(model.make());
  const std::vector<Tensor> sample = model.inputs(graph);
  QuantConfig config;
  config.front = 0;
  const QuantPlan first = planned(graph, observed(graph, {sample}), config);
  std::mt19937 random(seed.number);
  std::vector<bool> is_pinned;
  for (std::size_t i = 0; i < graph.values().size(); ++i) is_pinned.push_back(random() % 2 == 0);
  const Graph archive = converted(graph, [&](const Graph&, ValueId id) -> std::optional<Pin> {
    const Group* group = first.group(id);
    if (group == nullptr || !is_pinned[id.index]) return std::nullopt;
    return Pin{group->quant, group->storage};
  });
  const auto broken = [&](std::string_view target, std::string_view law, const std::string& how) {
    return fmt::format("{}: {}: {}\n{}", target, law, how, print(archive));
  };
  for (const char* target : {"xnnpack", "tosa-int", "ethos-u55-128", "ethos-u85-256"}) {
    const TargetDesc& device = *find_target(target);
    Diagnostics diagnostics;
    const auto prepared = prepare(archive, {&device, {}}, diagnostics);
    if (!prepared) return broken(target, "preparing", prepared.error().text());
    const auto without_data = quantize(*prepared, device, nullptr, config, diagnostics);
    if (!without_data) return broken(target, "without data", without_data.error().text());
    const bool is_said =
        std::ranges::any_of(diagnostics.entries(), [](const Diagnostic& entry) { return entry.code == kNotPinned; });
    const bool has_pins = pinned_flow(prepared->graph).has_pins;
    if (has_pins && is_said == without_data->plan.has_ranges) return broken(target, "what lacks parameters", "is said");
    const Statistics statistics = observed(prepared->graph, {sample});
    const auto with_data = quantize(*prepared, device, &statistics, config, diagnostics);
    if (!with_data) return broken(target, "with data", with_data.error().text());
    if (!with_data->plan.has_ranges) return broken(target, "with data", "has no ranges");
  }
  return {};
}

std::string broken_compute_law(RandomSeed seed) {
  RandomQuantModel random(seed, Widths::kTame);
  Diagnostics diagnostics;
  auto prepared = prepare(random.make(), {&target(), {}}, diagnostics);
  if (!prepared) return prepared.error().text();
  const std::vector<Tensor> sample = random.inputs(prepared->graph);
  const Statistics statistics = observed(prepared->graph, {sample, random.inputs(prepared->graph)});
  QuantConfig config;
  config.front = 0;
  const auto model = quantize(*prepared, target(), &statistics, config, diagnostics);
  if (!model) return model.error().text() + "\n" + print(prepared->graph);
  const Graph& graph = model->quantized.graph;
  const auto broken = [&](std::string_view law, const std::string& how) {
    return fmt::format("{}: {}\n{}\n{}", law, how, print(prepared->graph), print(graph));
  };
  if (const auto verified = verify(graph); !verified) return broken("verify", verified.error().text());
  const auto parsed = parse_graph(print(graph));
  if (!parsed) return broken("parse", parsed.error().text());
  if (print(*parsed) != print(graph)) return broken("print, parse, print", difference_of(print(graph), print(*parsed)));
  const auto expected = interpret(prepared->graph, sample);
  if (!expected) return broken("the interpreter", expected.error().text());
  const auto found = interpret_integers(graph, sample, *target().integers.kernels);
  if (!found) return broken("the integer interpreter", found.error().text());
  for (std::size_t i = 0; i < expected->size(); ++i) {
    SignalToNoise error;
    error.add((*expected)[i]->data<float>(), (*found)[i]->data<float>());
    if (error.db() < kMinDb) return broken("what it computes", fmt::format("output {}: {:.1f} dB", i, error.db()));
  }
  return {};
}

void count_decisions(unsigned seed, Decided& decided) {
  RandomQuantModel model(seed, Widths::kWild);
  const Graph graph = prepared_graph(model.make());
  const Statistics statistics = observed(graph, {model.inputs(graph)});
  const QuantPlan found = planned(graph, statistics, config_of(seed));
  decided.cuts += found.cuts.size();
  for (const Group& group : found.groups) decided.kept_ties += group.ties.size();
  for (const Precision precision : found.precision) {
    ++(precision == Precision::kQuantized ? decided.quantized_nodes : decided.nodes_in_float);
  }
}

}  // namespace isthmus::test
