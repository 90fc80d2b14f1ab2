// Runs the stages in order.
#include "session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "calibrate/finite.h"
#include "evaluate/side_by_side.h"
#include "ir/fingerprint.h"
#include "ir/text.h"
#include "program/lower/lower.h"
#include "quantize/config/pins.h"
#include "session/float_model.h"
#include "session/foreign_cause.h"
#include "session/input_layout.h"
#include "session/preconditions.h"
#include "session/provenance.h"
#include "session/quantize_with_gate.h"
#include "session/runners.h"
#include "session/shard_work.h"
#include "stats/stats_file.h"

namespace isthmus {
namespace {

constexpr std::size_t kErrorSamples = 4;  // on which the loss of each value is measured

}  // namespace

struct Session::State {
  State(std::shared_ptr<const OpenModel> opened, SessionOptions wanted, SessionProgress watch)
      : model(std::move(opened)),
        options(std::move(wanted)),
        progress(std::move(watch)),
        diagnostics(model->diagnostics),
        examples(model->model.examples) {}

  const TargetDesc& target() const { return *options.prepare.target; }

  Expected<void> announce(Stage stage, double fraction = 0) const {
    if (!progress || progress(stage, fraction)) return {};
    return fail(ErrorKind::kEnvironment, "interrupted");
  }

  Expected<void> prepare_model();
  // The archive's example, where it fits the graph.
  std::optional<Sample> example() const;
  // Statistics, and the samples by which their result is judged.
  Expected<void> gather();
  Expected<Statistics> measured(const std::vector<std::size_t>& left_out);
  Expected<std::unique_ptr<ShardSamples>> shard_samples(Diagnostics& said) const;
  Expected<Manifest> manifest_of(const ShardSamples& samples) const;
  Expected<Statistics> measured_shard();
  Expected<Statistics> run_samples(Samples& samples);
  // Takes the parameters that the archive gives. False where they are not all that is needed.
  Expected<bool> take_archive_parameters();
  GateInputs gate_inputs();
  TrialProgress trial_progress() const;
  // Some samples for what looks at single nodes: those that calibration saw, where they are at hand.
  Expected<std::vector<Sample>> few_samples(std::size_t max) const;
  Expected<void> quantize_model();
  // After the data were read: what is wrong with them is said there.
  Expected<void> attach_provenance();
  void warn_of_ranges();
  void warn_of_missing_finisher();
  Expected<void> compare();

  std::shared_ptr<const OpenModel> model;
  SessionOptions options;
  SessionProgress progress;
  Diagnostics diagnostics;
  std::vector<std::optional<TensorView>> examples;  // as they fit the prepared graph
  std::optional<Finisher> finisher;
  std::vector<StageTime> times;
  std::optional<Prepared> prepared;
  std::optional<FloatModel> float_model;
  std::optional<Statistics> statistics;
  HeldOut held_out;
  std::vector<Order> input_orders;
  std::vector<pte::NamedData> attached;  // where the program comes from
  std::optional<QuantizedModel> quantized;
  std::vector<NodeGain> promoted;
  std::optional<Compiled> compiled;
  std::optional<Evaluation> evaluation;
};

Expected<void> Session::State::prepare_model() {
  if (prepared) return {};
  TRY(announce(Stage::kLegalize));
  prepared = TRY(within(isthmus::prepare(model->model.graph, options.prepare, diagnostics), model->path));
  append_times(times, prepared->times);
  examples = fitting_examples(prepared->graph, std::move(examples));
  float_model.emplace(*prepared, examples);
  input_orders.clear();
  if (!options.input_layouts.empty()) {
    input_orders = TRY(isthmus::input_orders(prepared->graph, options.input_layouts));
  }
  return {};
}

std::optional<Sample> Session::State::example() const {
  auto source = example_samples(prepared->graph, examples);
  if (!source) return std::nullopt;
  auto sample = (*source)->next();
  if (!sample || !*sample || !check_finite(prepared->graph, **sample, 0)) return std::nullopt;
  return **std::move(sample);
}

Expected<Statistics> Session::State::measured(const std::vector<std::size_t>& left_out) {
  if (options.data.is_statistics()) return known_statistics(options.data, *prepared, diagnostics);
  const std::unique_ptr<Samples> samples =
      without(TRY(samples_of(options.data, model->path, examples, *prepared, diagnostics)), left_out);
  return run_samples(*samples);
}

Expected<Statistics> Session::State::run_samples(Samples& samples) {
  TRY(announce(Stage::kCalibrate));
  const auto report = [&](std::size_t done) {
    const double count = static_cast<double>(samples.count().value_or(0));
    return !progress || progress(Stage::kCalibrate, count > 0 ? static_cast<double>(done) / count : 0);
  };
  const xnnpack::ThreadPool threads(options.threads);
  return within(isthmus::calibrate(*prepared, *float_model, samples, threads, report, diagnostics,
                                   float_kernels_of(options.data)),
                options.data.is_empty() ? model->path : options.data.name());
}

Expected<std::unique_ptr<ShardSamples>> Session::State::shard_samples(Diagnostics& said) const {
  if (options.data.is_statistics()) {
    return bad_input(fmt::format("{} holds statistics: only samples can be split into shards", options.data.name()));
  }
  const bool has_states = !prepared->graph.states().empty();
  return within(
      shard_of(TRY(samples_of(options.data, model->path, examples, *prepared, said)), *options.data.shard, has_states),
      options.data.is_empty() ? model->path : options.data.name());
}

Expected<Manifest> Session::State::manifest_of(const ShardSamples& samples) const {
  Manifest manifest = samples.manifest();
  manifest.facts = TRY(calibration_facts(*prepared, target(), options.data));
  return manifest;
}

Expected<Statistics> Session::State::measured_shard() {
  const auto samples = TRY(shard_samples(diagnostics));
  Statistics result;
  if (samples->range().count() > 0) {
    result = TRY(run_samples(*samples));
  } else {
    result.key = fingerprint(prepared->graph, kStatsVersion);
    result.is_reproducible = options.data.is_reproducible;
  }
  result.part = TRY(manifest_of(*samples));
  return result;
}

Expected<void> Session::State::gather() {
  const Graph& graph = prepared->graph;
  const std::optional<Sample> own = example();
  if (options.data.has_samples()) {
    Diagnostics said_again;
    const auto source = TRY(samples_of(options.data, model->path, examples, *prepared, said_again));
    held_out = TRY(within(hold_out(graph, *source, own, max_seen_samples(graph), diagnostics), options.data.name()));
  }
  statistics = TRY(measured(held_out.left_out));
  if (options.data.has_samples()) return {};
  if (options.data.is_empty()) {
    held_out.why_none = "ranges come from the example inputs alone; give samples with --calibrate";
  } else {
    held_out = hold_out(graph, *statistics, own, diagnostics);
  }
  // Techniques that see samples again have no others.
  if (!needs_samples(options.config)) return {};
  if (!own) return within(example_samples(graph, examples), model->path).map([](auto&&) {});
  held_out.samples.clear();
  held_out.seen = {*own};
  held_out.what.clear();
  held_out.why_none = "the example inputs, the only sample, were used to quantize";
  return {};
}

TrialProgress Session::State::trial_progress() const {
  return [this](std::size_t done, std::size_t all) {
    return announce(Stage::kQuantize, static_cast<double>(done) / static_cast<double>(all));
  };
}

GateInputs Session::State::gate_inputs() {
  GateInputs inputs{.attempt = {.prepared = *prepared,
                                .target = target(),
                                .examples = examples,
                                .statistics = statistics ? &*statistics : nullptr,
                                .refining = {},
                                .calibrated = held_out.seen,
                                .input_orders = input_orders,
                                .attached = attached,
                                .is_reproducible = options.data.is_reproducible},
                    .float_model = *float_model,
                    .held_out = held_out,
                    .config = options.config,
                    .kernels = float_kernels_of(options.data),
                    .threads = options.threads};
  if (needs_samples(options.config)) inputs.attempt.refining = refining_samples(held_out);
  return inputs;
}

Expected<void> Session::State::quantize_model() {
  const GateInputs inputs = gate_inputs();
  Chosen chosen = TRY(within(quantize_with_gate(inputs, trial_progress()), model->path));
  TRY(announce(Stage::kQuantize, 1));
  TRY(demand_used_rules(chosen.said, prepared->graph, options.config));
  options.config = std::move(chosen.config);
  quantized = std::move(chosen.model);
  promoted = std::move(chosen.promoted);
  compiled = std::move(chosen.compiled);
  append_times(times, chosen.times);
  for (const Diagnostic& entry : chosen.said.entries()) diagnostics.add(entry);
  return {};
}

Expected<std::vector<Sample>> Session::State::few_samples(std::size_t max) const {
  Diagnostics ignored;
  DataOptions few = options.data;
  if (few.is_statistics()) few = {};  // nothing is left of the samples: the model's examples serve
  few.max_samples = std::min({few.max_samples.value_or(max), few.sequence.value_or(max), max});
  const auto source = TRY(samples_of(few, model->path, examples, *prepared, ignored));
  std::vector<Sample> samples;
  while (auto sample = TRY(source->next())) samples.push_back(*std::move(sample));
  return samples;
}

Expected<void> Session::State::attach_provenance() {
  attached = {named(TRY(provenance_of(*model, options)))};
  return {};
}

// Ranges of values behind the inputs that 8 bits cannot hold.
void Session::State::warn_of_ranges() {
  const QuantPlan& plan = quantized->plan;
  const auto matters = [&](ValueId id) { return plan.group(id) != nullptr && plan.group(id)->storage == DType::kI8; };
  warn_of_values(quantized->model, *statistics, matters, diagnostics);
}

// The first of all warnings: the program does not run on the device.
void Session::State::warn_of_missing_finisher() {
  Diagnostics all;
  all.warn("not-finished", "", std::string(target().finish->missing));
  for (const Diagnostic& entry : diagnostics.entries()) all.add(entry);
  diagnostics = std::move(all);
}

Expected<bool> Session::State::take_archive_parameters() {
  const Diagnostics before = diagnostics;
  TRY(attach_provenance());
  TRY(quantize_model());
  if (quantized->plan.has_ranges) {
    if (auto own = example()) {
      held_out.samples = {*std::move(own)};
      held_out.what = "the example inputs";
    }
    return true;
  }
  // What it says otherwise will be said again.
  const Diagnostics tried = std::exchange(diagnostics, before);
  for (const Diagnostic& said : tried.entries()) {
    if (said.code == kNotPinned) diagnostics.warn(said.code, said.node, said.text);
  }
  for (StageTime& time : times) {
    if (time.stage >= Stage::kEqualize) time.of = "the archive's own parameters";
  }
  quantized.reset();
  compiled.reset();
  return false;
}

Expected<void> Session::State::compare() {
  if (!quantized || held_out.samples.empty()) return {};
  TRY(announce(Stage::kCompare));
  StageClock clock(times);
  const auto samples = given_samples(held_out.samples);
  const RunnerMaker reference = TRY(float_model->runners());
  const RunnerMaker program =
      program_runners(Blob(compiled->runnable(), nullptr), &quantized->quantized.graph, compiled->method);
  const bool has_states = !prepared->graph.states().empty();
  const auto report = [&](std::size_t done) {
    return !progress ||
           progress(Stage::kCompare, static_cast<double>(done) / static_cast<double>(held_out.samples.size()));
  };
  evaluation = TRY(clock.stage(Stage::kCompare, evaluate_side_by_side(reference, program, *samples, {},
                                                                      has_states ? 1 : options.threads, report)));
  return {};
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Expected<Session> Session::create(std::shared_ptr<const OpenModel> model, SessionOptions options,
                                  SessionProgress progress) {
  auto state = std::make_unique<State>(std::move(model), std::move(options), std::move(progress));
  append_times(state->times, state->model->times);
  state->finisher = TRY(finisher_for(state->target(), state->options.finish));
  return Session(std::move(state));
}

Expected<void> Session::place(WithData with_data) {
  State& state = *state_;
  TRY(state.prepare_model());
  const bool has_data = with_data == WithData::kYes;
  if (has_data) TRY(within(demand_known(state.prepared->graph, state.target(), state.diagnostics), state.model->path));
  if (state.options.is_float) {
    TRY(state.attach_provenance());
    const std::size_t before = state.prepared->times.size();
    TRY(keep_in_float(*state.prepared, state.target()));
    append_times(state.times, std::span(state.prepared->times).subspan(before));
    return {};
  }
  // An archive that PyTorch has quantized may hold every parameter that data would give.
  if (has_data && state.options.data.is_empty() && !needs_samples(state.options.config) &&
      is_quantized_by_archive(state.prepared->graph)) {
    if (TRY(state.take_archive_parameters())) return {};
  }
  if (!has_data) return state.quantize_model();
  {
    StageClock clock(state.times);
    TRY(clock.stage(Stage::kCalibrate, state.gather()));
  }
  TRY(state.attach_provenance());
  TRY(state.quantize_model());
  if (!state.held_out.has_bad_inputs) state.warn_of_ranges();
  return {};
}

Expected<void> Session::demand_runnable() const {
  TRY(within(demand_known_calls(graph(), diagnostics()), file()));
  return within(demand_host_kernels(graph(), places(), target()), file());
}

Expected<Statistics> Session::calibrate() {
  TRY(state_->prepare_model());
  TRY(within(demand_known(state_->prepared->graph, target(), diagnostics()), file()));
  StageClock clock(state_->times);
  return clock.stage(Stage::kCalibrate, state_->options.data.shard ? state_->measured_shard() : state_->measured({}));
}

Expected<Manifest> Session::shard_manifest() {
  TRY(state_->prepare_model());
  Diagnostics said_again;
  const auto samples = TRY(state_->shard_samples(said_again));
  TRY(read_all(*samples));
  return state_->manifest_of(*samples);
}

Expected<void> Session::compile() {
  State& state = *state_;
  TRY(demand_runnable());
  if (!state.compiled) {
    TRY(state.announce(Stage::kLower));
    state.compiled = TRY(within(
        isthmus::compile(graph(), places(), target(), state.examples, nullptr, state.input_orders, state.attached),
        file()));
    append_times(state.times, state.compiled->times);
  }
  if (target().finish != nullptr && !state.finisher) state.warn_of_missing_finisher();
  if (state.finisher) {
    if (!state.finisher->note.empty()) state.diagnostics.note("finished-by", "", state.finisher->note);
    TRY(state.announce(Stage::kFinish));
    const std::size_t before = state.compiled->times.size();
    TRY(within(finish(*state.compiled, *state.finisher), file()));
    append_times(state.times, std::span(state.compiled->times).subspan(before));
  }
  TRY(state.compare());
  append_times(state.times, state.float_model->times(), "float reference");
  return {};
}

Expected<std::vector<ValueError>> Session::layer_errors() const {
  const State& state = *state_;
  const auto samples = given_samples(TRY(state.few_samples(kErrorSamples)));
  return isthmus::layer_errors(state.quantized->model, state.quantized->quantized, state.quantized->plan, target(),
                               *samples, kErrorSamples);
}

void Session::keep_results() {
  State& state = *state_;
  if (auto& given = state.options.data.given; given && given->size() > kErrorSamples) given->resize(kErrorSamples);
  state.held_out.samples.clear();
  state.held_out.seen.clear();
  state.progress = {};
}

Expected<std::vector<NodeGain>> Session::node_gains() {
  constexpr std::size_t kMaxSamples = 8;
  const GateInputs inputs = state_->gate_inputs();
  const std::vector<Trial> trials = TRY(node_trials(inputs, TRY(state_->few_samples(kMaxSamples))));
  Attempts attempts(inputs.attempt);
  auto gains = within(isthmus::node_gains(attempts, state_->options.config, trials, state_->trial_progress()), file());
  TRY(state_->announce(Stage::kQuantize, 1));
  return gains;
}

const std::vector<NodeGain>& Session::promoted() const { return state_->promoted; }

Expected<std::string> Session::text_after(Stage stage, WithData with_data) {
  State& state = *state_;
  const Graph& loaded = state.model->model.graph;
  if (stage == Stage::kLoad) return print(loaded);
  if (stage == Stage::kCanonicalize) {
    std::vector<RewriteTime> rewrites;
    const auto canonical = canonical_graph(loaded, state.options.prepare, state.diagnostics, state.times, rewrites);
    return print(TRY(within(canonical, file())));
  }
  if (stage == Stage::kLegalize) {
    TRY(state.prepare_model());
    return print(state.prepared->graph);
  }
  TRY(place(with_data));
  TextOptions text;
  if (stage == Stage::kPartition) text.notes = notes_of(places(), target().name);
  return print(graph(), text);
}

const std::string& Session::file() const { return state_->model->path; }
const TargetDesc& Session::target() const { return state_->target(); }
const OpenModel& Session::opened() const { return *state_->model; }
const Diagnostics& Session::diagnostics() const { return state_->diagnostics; }
const std::vector<StageTime>& Session::times() const { return state_->times; }
const Prepared& Session::prepared() const { return *state_->prepared; }
const QuantizedModel* Session::quantized() const { return state_->quantized ? &*state_->quantized : nullptr; }
const Graph& Session::graph() const {
  return state_->quantized ? state_->quantized->quantized.graph : state_->prepared->graph;
}
const Partitioning& Session::places() const {
  return state_->quantized ? state_->quantized->partitioning : state_->prepared->partitioning;
}
bool Session::has_statistics() const { return state_->statistics.has_value(); }
const Statistics& Session::statistics() const { return *state_->statistics; }
const Compiled& Session::compiled() const { return *state_->compiled; }
const HeldOut& Session::held_out() const { return state_->held_out; }
const std::optional<Evaluation>& Session::evaluation() const { return state_->evaluation; }

}  // namespace isthmus
