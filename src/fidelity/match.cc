// Along the program, a window of the model ahead of what is matched already.
#include "fidelity/match.h"

#include <algorithm>
#include <deque>
#include <set>

namespace isthmus::fidelity {
namespace {

constexpr double kMinLikeness = 0.7;
constexpr double kTie = 1e-4;          // the same number in several of the model's values: a reshape, a copy
constexpr std::size_t kMaxSeen = 256;  // values of the model ahead
constexpr double kSame = 0.5;          // of what a match leaves unexplained: the same numbers leave as much
constexpr std::size_t kMaxTried = 48;  // of those, of as many elements

// The way between a value of the program and values of the model, whatever is matched.
class Candidates {
 public:
  Candidates(std::span<const Reading> readings, const Graph& model, std::span<const RunValues> runs)
      : readings_(readings), model_(model), runs_(runs), readers_(model.values().size()) {
    for (std::uint32_t i = 0; i < model.nodes().size(); ++i) {
      for (const ValueId input : model.nodes()[i].inputs) readers_[input.index].push_back(i);
    }
  }

  const std::vector<std::int64_t>* sizes_of(ValueId id) const {
    const auto& tensor = runs_[0].model[id.index];
    return tensor && tensor->dtype() == DType::kF32 ? &tensor->sizes() : nullptr;
  }
  // The values of the model that may come next: the nearest first.
  std::vector<ValueId> ahead_of(std::span<const ValueId> from) const {
    std::deque<ValueId> todo;
    std::vector<ValueId> result;
    std::set<std::uint32_t> seen;
    for (const ValueId id : from) {
      if (seen.insert(id.index).second) todo.push_back(id);
    }
    while (!todo.empty()) {
      const ValueId id = todo.front();
      todo.pop_front();
      result.push_back(id);
      for (const std::uint32_t reader : readers_[id.index]) {
        for (const ValueId output : model_.nodes()[reader].outputs) {
          if (seen.size() < kMaxSeen && seen.insert(output.index).second) todo.push_back(output);
        }
      }
    }
    return result;
  }

  std::optional<Fit> fit(std::uint32_t value, ValueId id) const {
    const auto* sizes = sizes_of(id);
    if (sizes == nullptr || !may_hold(runs_[0].sizes[value], *sizes)) return std::nullopt;
    std::vector<std::vector<float>> program, model;
    for (const RunValues& run : runs_) {
      // Sizes of a sample may differ from those of the first.
      if (run.program[value].size() != runs_[0].program[value].size() || !run.model[id.index]) continue;
      const auto numbers = run.model[id.index]->data<float>();
      if (numbers.size() != run.program[value].size() || run.model[id.index]->sizes() != *sizes) continue;
      program.push_back(run.program[value]);
      model.emplace_back(numbers.begin(), numbers.end());
    }
    return best_fit({program, model}, runs_[0].sizes[value], *sizes, readings_[value]);
  }

 private:
  std::span<const Reading> readings_;
  const Graph& model_;
  std::span<const RunValues> runs_;
  std::vector<std::vector<std::uint32_t>> readers_;  // by value of the model: nodes
};

class Matcher {
 public:
  Matcher(const anatomy::Graph& program, std::span<const Reading> readings, const Graph& model,
          std::span<const RunValues> runs, const IsMade& is_made, Matching& result)
      : program_(program),
        model_(model),
        runs_(runs),
        is_made_(is_made),
        result_(result),
        candidates_(readings, model, runs) {
    result_.matches.resize(program.values.size());
    result_.fronts.resize(program.nodes.size());
    value_fronts_.resize(program.values.size());
  }

  Expected<void> run() {
    const std::size_t inputs = std::min(program_.inputs.size(), model_.inputs().size());
    for (std::size_t i = 0; i < inputs; ++i) match_input(program_.inputs[i], model_.inputs()[i]);
    for (std::uint32_t i = 0; i < program_.nodes.size(); ++i) TRY(match_node(i));
    match_outputs();
    return {};
  }

 private:
  using Front = std::vector<std::uint32_t>;

  bool is_seen(std::uint32_t value) const { return !runs_[0].program[value].empty(); }

  void match_input(std::uint32_t value, ValueId id) {
    const auto* sizes = candidates_.sizes_of(id);
    if (sizes == nullptr) return;
    Holding holding;
    for (std::size_t axis = 0; axis < sizes->size(); ++axis) {
      holding.order.push_back(static_cast<std::uint8_t>(axis));
    }
    set(value, {id, holding});
  }
  void set(std::uint32_t value, Match match) {
    result_.matches[value] = std::move(match);
    value_fronts_[value] = {value};
  }

  Expected<void> match_node(std::uint32_t index) {
    const anatomy::Node& node = program_.nodes[index];
    std::set<std::uint32_t> front;
    for (const std::uint32_t input : node.inputs)
      front.insert(value_fronts_[input].begin(), value_fronts_[input].end());
    result_.fronts[index] = Front(front.begin(), front.end());
    for (const std::uint32_t output : node.outputs) {
      value_fronts_[output] = result_.fronts[index];
      if (!is_seen(output)) continue;
      auto match = find(output, result_.fronts[index]);
      if (match && TRY(is_made_(output, *match, result_.fronts[index]))) set(output, *std::move(match));
    }
    return {};
  }

  std::optional<Match> find(std::uint32_t value, const Front& front) const {
    std::optional<Match> best;
    double likeness = kMinLikeness;
    std::size_t tried = 0;
    std::vector<ValueId> from;
    for (const std::uint32_t held : front) from.push_back(result_.matches[held]->value);
    for (const ValueId id : candidates_.ahead_of(from)) {
      if (tried == kMaxTried) break;
      const auto found = candidates_.fit(value, id);
      if (!found) continue;
      ++tried;
      // The unexplained rest decides: 0.999 is twice as good as 0.998.
      if (best ? 1 - found->likeness > (1 - likeness) * 0.98 - kTie : found->likeness < likeness) continue;
      best = Match{id, found->holding};
      likeness = found->likeness;
    }
    return best;
  }

  void match_outputs() {
    std::vector<ValueId> wanted;
    for (const Output& output : model_.outputs()) {
      const auto* id = std::get_if<ValueId>(&output.value);
      if (output.kind == OutputKind::kResult && id != nullptr) wanted.push_back(*id);
    }
    if (wanted.size() > program_.outputs.size()) return;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::uint32_t value = program_.outputs[i];
      if (!is_seen(value)) continue;
      if (auto found = candidates_.fit(value, wanted[i]))
        result_.matches[value] = Match{wanted[i], std::move(found->holding)};
    }
  }

  const anatomy::Graph& program_;
  const Graph& model_;
  std::span<const RunValues> runs_;
  const IsMade& is_made_;
  Matching& result_;
  Candidates candidates_;
  std::vector<Front> value_fronts_;  // by value of the program
};

}  // namespace

bool is_in_place(std::span<const Reading> readings, const Graph& model, std::span<const RunValues> runs,
                 const Matching& matching, std::uint32_t value) {
  const Candidates candidates(readings, model, runs);
  const ValueId match = matching.matches[value]->value;
  const auto as_matched = candidates.fit(value, match);
  if (!as_matched) return true;
  const std::vector<ValueId> from{match};
  std::size_t tried = 0;
  for (const ValueId id : candidates.ahead_of(from)) {
    if (tried == kMaxTried) break;
    const auto found = candidates.fit(value, id);
    if (!found) continue;
    ++tried;
    const bool is_same = 1 - found->likeness <= (1 - as_matched->likeness) / kSame + kTie;
    if (is_same && is_usual(found->holding, *candidates.sizes_of(id))) return true;
  }
  return false;
}

void keep_matches(const anatomy::Graph& program, const std::vector<bool>& kept, Matching& matching) {
  std::vector<std::set<std::uint32_t>> fronts(program.values.size());
  for (std::uint32_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) matching.matches[i].reset();
    if (matching.matches[i]) fronts[i] = {i};
  }
  for (std::uint32_t i = 0; i < program.nodes.size(); ++i) {
    std::set<std::uint32_t> front;
    for (const std::uint32_t input : program.nodes[i].inputs) front.insert(fronts[input].begin(), fronts[input].end());
    matching.fronts[i].assign(front.begin(), front.end());
    for (const std::uint32_t output : program.nodes[i].outputs) {
      if (!matching.matches[output]) fronts[output] = front;
    }
  }
}

Expected<void> match_values(const anatomy::Graph& program, std::span<const Reading> readings, const Graph& model,
                            std::span<const RunValues> runs, const IsMade& is_made, Matching& result) {
  return Matcher(program, readings, model, runs, is_made, result).run();
}

}  // namespace isthmus::fidelity
