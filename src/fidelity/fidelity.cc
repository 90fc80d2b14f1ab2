// Runs both, matches their values, and computes each step once more from the program's own numbers.
#include "fidelity/fidelity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/portable_math.h"
#include "fidelity/judge.h"
#include "fidelity/match.h"
#include "fidelity/replay.h"
#include "fidelity/rounding.h"
#include "interpret/interpreter.h"
#include "interpret/quantized_types.h"

namespace isthmus::fidelity {
namespace {

constexpr std::uint64_t kMaxMatched = std::uint64_t{1} << 25;  // elements that are kept to match values
constexpr std::size_t kMaxMatchedSamples = 32;

class Verifier {
 public:
  Verifier(const anatomy::Graph& program, const RunShown& run, const Graph& model, const Options& options)
      : program_(program),
        run_(run),
        model_(model),
        options_(options),
        readings_(readings(program)),
        makers_(program.makers()),
        limits_(program.values.size()) {
    for (std::uint32_t i = 0; i < program.values.size(); ++i) {
      if (program.values[i].event) by_event_.emplace(*program.values[i].event, i);
    }
  }

  Expected<Verification> run(Samples& samples) {
    states_ = TRY(initial_states(model_));
    std::vector<RunValues> first;
    std::vector<SymbolValues> symbols;
    const std::size_t wanted = options_.dump != nullptr ? 1 : options_.max_samples;
    std::uint64_t kept = 0;
    const auto count = samples.count();
    const auto total = static_cast<double>(count ? std::min(*count, wanted) : wanted);
    bool is_matched = false;
    while (result_.samples < wanted) {
      const auto sample = TRY(samples.next());
      if (!sample) break;
      ++result_.samples;
      RunValues values = TRY(values_of(*sample));
      SymbolValues sizes = TRY(bind_symbols(model_, *sample));
      if (is_matched) {
        TRY(compare(values, sizes));
      } else {
        for (const auto& numbers : values.program) kept += numbers.size();
        for (const auto& tensor : values.model) kept += tensor ? static_cast<std::uint64_t>(tensor->count()) : 0;
        const std::uint64_t each = kept / (first.size() + 1);
        first.push_back(std::move(values));
        symbols.push_back(std::move(sizes));
        if (first.size() >= kMaxMatchedSamples || kept + each > kMaxMatched) {
          TRY(match(first, symbols));
          is_matched = true;
        }
      }
      if (options_.progress) options_.progress(static_cast<double>(result_.samples) / total);
    }
    if (result_.samples == 0) return bad_input("there are no samples");
    if (!is_matched) TRY(match(first, symbols));
    finish();
    return std::move(result_);
  }

 private:
  // What both make of a sample.
  Expected<RunValues> values_of(const std::vector<Tensor>& sample) {
    RunValues values;
    values.model.resize(model_.values().size());
    TRY(interpret(
        model_, sample, [&](ValueId id, const Tensor& tensor) { values.model[id.index] = tensor; }, &states_));
    values.program.resize(program_.values.size());
    values.sizes.resize(program_.values.size());
    // Inputs stand for the model's numbers; those that are quantized have lost a little.
    for (std::size_t i = 0; i < std::min(program_.inputs.size(), sample.size()); ++i) {
      if (sample[i].dtype() == DType::kF32) keep(values, program_.inputs[i], sample[i], Reading{});
    }
    const auto outputs = TRY(run_(sample, [&](const anatomy::Event& event, const Tensor& elements) {
      const auto found = by_event_.find(event);
      if (found != by_event_.end()) keep(values, found->second, elements, reading_of(found->second, elements));
    }));
    if (outputs.size() != program_.outputs.size()) return values;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::uint32_t value = program_.outputs[i];
      if (outputs[i] && values.program[value].empty()) {
        keep(values, value, *outputs[i], reading_of(value, *outputs[i]));
      }
    }
    return values;
  }
  void keep(RunValues& values, std::uint32_t value, const Tensor& tensor, const Reading& reading) {
    values.program[value] = numbers_of(tensor, reading);
    values.sizes[value] = tensor.sizes();
    if (tensor.dtype() == DType::kI8 || tensor.dtype() == DType::kU8 || tensor.dtype() == DType::kI16) {
      const QuantizedRange range = quantized_range(tensor.dtype());
      limits_[value] = {number_of(range.min, reading), number_of(range.max, reading)};
    }
  }
  // What was shown as floats is the numbers themselves.
  Reading reading_of(std::uint32_t value, const Tensor& tensor) const {
    return tensor.dtype() == DType::kF32 || tensor.dtype() == DType::kF64 ? Reading{} : readings_[value];
  }

  // The steps of the device, each beside what the same step loses here. Where not every value has a file, a step is as
  // long as several here, and may cut off numbers on the way.
  Expected<void> examine_dump(std::vector<RunValues>& first, std::span<const SymbolValues> symbols) {
    RunValues dumped = first[0];
    TRY(take_dump(dumped));
    known_.clear();
    TRY(examine_all(first, symbols));
    const std::map<std::uint32_t, Known> here = std::move(known_);
    known_.clear();
    suspects_.clear();
    first[0] = std::move(dumped);
    TRY(examine_all(first, symbols));
    for (auto& [value, known] : known_) {
      if (const std::optional<Powers>& own = here.at(value).step.own) known.step.here = own->noise;
    }
    return {};
  }
  // What the device left, in the place of what was made here.
  Expected<void> take_dump(RunValues& values) {
    std::vector<bool> is_there(program_.values.size());
    for (std::uint32_t i = 0; i < is_there.size(); ++i) {
      if (!makers_[i]) {
        is_there[i] = true;
        continue;
      }
      const auto& tensor = (*options_.dump)[i];
      const std::size_t count = values.program[i].size();
      values.program[i].clear();
      if (!tensor) continue;
      if (count != 0 && static_cast<std::size_t>(tensor->count()) != count) {
        return bad_input(fmt::format("{} has {} elements here, and {} of the device", program_.values[i].name, count,
                                     tensor->count()));
      }
      values.program[i] = numbers_of(*tensor, reading_of(i, *tensor));
      is_there[i] = !values.program[i].empty();
    }
    keep_matches(program_, is_there, matching_);
    return {};
  }

  // The step that makes a value of what is before it, over some samples.
  Expected<Step> examined(std::uint32_t value, const Match& match, std::span<const std::uint32_t> front,
                          std::span<const RunValues> runs, std::span<const SymbolValues> symbols) {
    Step step = new_step(value, match);
    const Held held = held_by(front);
    const auto region = region_of(model_, held, match.value);
    const double relative = relative_rounding(roundings(runs), front, step.node);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      TRY(add_run(step, match, held, region, relative, runs[i], symbols[i]));
    }
    return step;
  }
  Step new_step(std::uint32_t value, const Match& match) const {
    Step step;
    step.node = *makers_[value];
    step.value = value;
    step.model = match.value;
    step.is_output = std::ranges::find(program_.outputs, value) != program_.outputs.end();
    return step;
  }
  Held held_by(std::span<const std::uint32_t> front) const {
    Held held;
    for (const std::uint32_t value : front) held.emplace(value, *matching_.matches[value]);
    return held;
  }
  // To what the value's type can hold. A device is not to blame for the scales of its program.
  void cut(Tensor& wanted, std::uint32_t value, const Match& match) const {
    if (!limits_[value]) return;
    const auto all = [&](float limit) {
      const std::vector<float> same(static_cast<std::size_t>(wanted.count()), limit);
      return as_in_model(same, wanted.sizes(), match.holding);
    };
    const std::vector<float> least = all(limits_[value]->first), most = all(limits_[value]->second);
    const auto numbers = wanted.mutable_data<float>();
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::clamp(numbers[i], least[i], most[i]);
  }
  Roundings roundings(std::span<const RunValues> runs) const { return {program_, readings_, makers_, runs}; }

  Expected<void> add_run(Step& step, const Match& match, const Held& front, const std::optional<Region>& region,
                         double relative, const RunValues& run, const SymbolValues& symbols) const {
    const auto found = held_tensor(step.value, match, run);
    if (!found) return {};
    step.total.add(run.model[match.value.index]->data<float>(), found->data<float>());
    if (!region) return {};
    auto wanted = TRY(replay(model_, *region, front, run, symbols));
    if (!wanted || wanted->dtype() != DType::kF32 || wanted->count() != found->count()) return {};
    if (options_.dump != nullptr) cut(*wanted, step.value, match);
    if (!step.own) step.own.emplace();
    const double before = step.own->signal;
    step.own->add(wanted->data<float>(), found->data<float>());
    step.rounding += relative * (step.own->signal - before) +
                     own_rounding(roundings({&run, 1}), step.value, match.holding, found->data<float>().size());
    return {};
  }

  Expected<void> match(std::vector<RunValues>& first, const std::vector<SymbolValues>& symbols) {
    const IsMade is_made = [&](std::uint32_t value, const Match& match,
                               std::span<const std::uint32_t> front) -> Expected<bool> {
      Step step = TRY(examined(value, match, front, first, symbols));
      if (!departs(step) || is_misled(step)) return true;
      suspects_.insert_or_assign(value, std::move(step));
      return false;
    };
    TRY(match_values(program_, readings_, model_, first, is_made, matching_));
    TRY(examine_all(first, symbols));
    while (drop_misleading() || drop_departing()) TRY(examine_all(first, symbols));
    if (options_.dump != nullptr) TRY(examine_dump(first, symbols));
    for (std::uint32_t node = 0; node < program_.nodes.size(); ++node) {
      for (const std::uint32_t value : program_.nodes[node].outputs) add_step(node, value, first);
    }
    kept_.push_back(std::move(first[0]));
    first.clear();
    return {};
  }

  // Whether less is lost against the model than against what the model makes of the front: the front has a value that
  // is none of the model's.
  static bool is_misled(const Step& step) {
    constexpr double kMaxRatio = 2, kMinDb = 40;
    return step.own && step.own->is_finite && step.own->noise > kMaxRatio * step.total.noise && step.own->db() < kMinDb;
  }

  Expected<void> examine_all(std::span<const RunValues> runs, std::span<const SymbolValues> symbols) {
    for (std::uint32_t node = 0; node < program_.nodes.size(); ++node) {
      const std::vector<std::uint32_t>& front = matching_.fronts[node];
      for (const std::uint32_t value : program_.nodes[node].outputs) {
        if (!matching_.matches[value]) continue;
        const auto found = known_.find(value);
        if (found != known_.end() && found->second.front == front) continue;
        known_[value] = {TRY(examined(value, *matching_.matches[value], front, runs, symbols)), front};
      }
    }
    return {};
  }

  // Of the front of each step that is misled, the value that is farthest from the model's.
  bool drop_misleading() {
    std::vector<bool> is_kept(program_.values.size(), true);
    bool drops = false;
    for (const auto& [value, known] : known_) {
      if (!matching_.matches[value] || !is_misled(known.step)) continue;
      const Step* worst = nullptr;
      for (const std::uint32_t before : known.front) {
        const auto found = known_.find(before);
        if (found == known_.end()) continue;
        if (worst == nullptr || found->second.step.total.db() < worst->total.db()) worst = &found->second.step;
      }
      if (worst == nullptr) continue;
      is_kept[worst->value] = false;
      drops = true;
    }
    if (drops) keep_matches(program_, is_kept, matching_);
    return drops;
  }

  // What only resembles a value of the model after all.
  bool drop_departing() {
    std::vector<bool> is_kept(program_.values.size(), true);
    bool drops = false;
    for (const auto& [value, known] : known_) {
      if (!matching_.matches[value] || known.step.is_output || !departs(known.step)) continue;
      suspects_.insert_or_assign(value, known.step);
      is_kept[value] = false;
      drops = true;
      break;  // those behind it are told by what is left
    }
    if (drops) keep_matches(program_, is_kept, matching_);
    return drops;
  }

  void add_step(std::uint32_t node, std::uint32_t value, std::span<const RunValues> first) {
    ++result_.values;
    if (first[0].program[value].empty()) {
      ++result_.unseen;
      return;
    }
    if (!matching_.matches[value]) {
      ++result_.unknown;
      return;
    }
    step_of_[value] = result_.steps.size();
    result_.steps.push_back(known_.at(value).step);
    const std::vector<std::uint32_t>& front = matching_.fronts[node];
    fronts_.push_back(held_by(front));
    regions_.push_back(region_of(model_, fronts_.back(), matching_.matches[value]->value));
    relative_.push_back(relative_rounding(roundings(first), front, node));
  }

  Expected<void> compare(const RunValues& values, const SymbolValues& symbols) {
    for (std::size_t i = 0; i < result_.steps.size(); ++i) {
      Step& step = result_.steps[i];
      TRY(add_run(step, *matching_.matches[step.value], fronts_[i], regions_[i], relative_[i], values, symbols));
    }
    return {};
  }

  void finish() {
    for (Step& step : result_.steps) {
      for (const std::uint32_t value : matching_.fronts[step.node]) {
        const auto before = step_of_.find(value);
        if (before == step_of_.end()) continue;  // an input
        const double db = result_.steps[before->second].total.db();
        step.before_db = step.before_db ? std::min(*step.before_db, db) : db;
      }
    }
    for (const std::uint32_t output : program_.outputs) {
      const auto found = step_of_.find(output);
      result_.outputs.push_back(found == step_of_.end() ? std::numeric_limits<double>::quiet_NaN()
                                                        : result_.steps[found->second].total.db());
    }
    const auto is_placed = [&](std::uint32_t value) { return is_in_place(readings_, model_, kept_, matching_, value); };
    judge({program_, model_, matching_, makers_, suspects_, is_placed}, result_);
  }

  const anatomy::Graph& program_;
  const RunShown& run_;
  const Graph& model_;
  const Options& options_;
  std::vector<Reading> readings_;
  std::vector<std::optional<std::uint32_t>> makers_;
  std::vector<std::optional<std::pair<float, float>>>
      limits_;  // by value of the program: the least and greatest number
  std::map<anatomy::Event, std::uint32_t> by_event_;
  StateValues states_;
  Matching matching_;
  struct Known {
    Step step;
    std::vector<std::uint32_t> front;
  };
  std::map<std::uint32_t, Known> known_;    // by value of the program that has a match, and so on
  std::vector<RunValues> kept_;             // of the first sample
  std::map<std::uint32_t, Step> suspects_;  // that only resemble one of the model's
  std::vector<Held> fronts_;                // by step, and so on
  std::vector<std::optional<Region>> regions_;
  std::vector<double> relative_;
  std::map<std::uint32_t, std::size_t> step_of_;  // by value of the program
  Verification result_;
};

}  // namespace

void Powers::add(std::span<const float> wanted, std::span<const float> found) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!std::isfinite(wanted[i])) continue;
    const double error = static_cast<double>(found[i]) - static_cast<double>(wanted[i]);
    is_finite = is_finite && std::isfinite(found[i]);
    signal += static_cast<double>(wanted[i]) * static_cast<double>(wanted[i]);
    if (std::isfinite(found[i])) noise += error * error;
  }
}

double Powers::db() const {
  if (!is_finite) return -std::numeric_limits<double>::infinity();
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return signal == 0 ? 0 : 10 * portable::log10(signal / noise);
}

Expected<Verification> examine(const anatomy::Graph& program, const RunShown& run, const Graph& model, Samples& samples,
                               const Options& options) {
  return Verifier(program, run, model, options).run(samples);
}

}  // namespace isthmus::fidelity
