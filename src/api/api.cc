// The public C++ interface.
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <utility>

#include "api/convert.h"
#include "base/bytes.h"
#include "base/cpus.h"
#include "base/version.h"
#include "interpret/interpreter.h"
#include "isthmus/isthmus.h"
#include "program/run/method.h"
#include "report/compile.h"
#include "report/eval.h"
#include "report/explain_session.h"
#include "report/inspect.h"
#include "report/page/page.h"
#include "report/program.h"
#include "session/evaluate_program.h"
#include "session/open_model.h"
#include "session/session.h"
#include "stats/stats_file.h"
#include "targets/registry.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus::v1 {
namespace {

// A callback that remembers whether it said no.
class Watch {
 public:
  explicit Watch(const Progress& progress) : progress_(progress) {}

  bool show(std::string_view stage, double fraction) {
    if (!progress_ || progress_(stage, fraction)) return true;
    is_cancelled_ = true;
    return false;
  }
  SessionProgress of_session() {
    return [this](Stage stage, double fraction) { return show(name_of(stage), fraction); };
  }
  template <class T>
  Result<T> result(Expected<T> found) const {
    if (!found) return public_error(found.error(), is_cancelled_);
    return *std::move(found);
  }

 private:
  const Progress& progress_;
  bool is_cancelled_ = false;
};

template <class T>
Result<T> result_of(Expected<T> found) {
  if (!found) return public_error(found.error());
  return *std::move(found);
}

Expected<Session> session_of(const Model& model, const Options& options, const Data& data, Watch& watch) {
  return Session::create(model.state().opened, TRY(session_options(options, data)), watch.of_session());
}

Report report_of(std::string json, std::function<std::string()> make_page) {
  auto state = std::make_shared<Report::State>();
  state->json = std::move(json);
  state->make_page = std::move(make_page);
  return Report(std::move(state));
}

// The page shows the session as it is now. `node` is where it opens; empty: at the top.
Report report_of(std::string json, CompileSummary summary, Session session, std::string node = {}) {
  session.keep_results();
  const auto kept = std::make_shared<const Session>(std::move(session));
  return report_of(std::move(json), [summary = std::move(summary), kept, node = std::move(node)] {
    return page_of(summary, *kept, {}, node);
  });
}

Expected<Program> program_of(Session session) {
  TRY(session.place(WithData::kYes));
  TRY(session.compile());
  CompileSummary summary = summarize(session);
  add_file(summary, "", session);
  const Compiled& compiled = session.compiled();
  Blob bytes = Blob::owning_block(compiled.bytes);
  Blob runnable = compiled.unfinished_bytes.empty() ? bytes : Blob::owning_block(compiled.unfinished_bytes);
  OpenFile file{session.file(), std::move(bytes), FileKind::kProgram};
  std::string json = to_json(summary);
  Report report = report_of(std::move(json), std::move(summary), std::move(session));
  return Program(std::make_shared<const Program::State>(
      Program::State{std::move(file), std::move(runnable), std::move(report), std::make_shared<MethodPool>()}));
}

Expected<std::vector<Tensor>> outputs_of(run::Method& method, const Sample& inputs) {
  const std::vector<isthmus::Tensor> given = TRY(tensors_of(inputs));
  return public_tensors(TRY(method.run(given)));
}

Expected<Done> saved(const std::string& path, std::span<const std::byte> bytes) {
  TRY(write_file(path, bytes));
  return Done{};
}

}  // namespace

Tensor Tensor::of(std::span<const float> numbers, std::vector<std::int64_t> sizes) {
  const auto bytes = std::as_bytes(numbers);
  return {"f32", std::move(sizes), {bytes.begin(), bytes.end()}};
}

std::vector<float> Tensor::floats() const {
  if (dtype != "f32") return {};
  std::vector<float> numbers(data.size() / sizeof(float));
  std::memcpy(numbers.data(), data.data(), numbers.size() * sizeof(float));
  return numbers;
}

Data Data::file(std::string path) {
  Data data;
  data.path = std::move(path);
  return data;
}

Data Data::samples(std::vector<Sample> samples) {
  Data data;
  data.given = std::move(samples);
  return data;
}

Result<Model> Model::open(const std::string& path) {
  auto opened = open_model(path);
  if (!opened) return public_error(opened.error());
  return Model(std::make_shared<const State>(State{std::make_shared<const OpenModel>(*std::move(opened))}));
}

const std::string& Model::path() const { return state_->opened->path; }

std::string Model::inspect() const {
  const OpenModel& opened = *state_->opened;
  if (opened.onnx) return to_json(summarize(opened.path, *opened.onnx, opened.model, opened.diagnostics));
  return to_json(summarize(opened.path, opened.archive, opened.model, opened.diagnostics));
}

const std::string& Report::json() const { return state_->json; }

std::string Report::page() const {
  const std::scoped_lock lock(state_->mutex);
  if (state_->make_page) {
    state_->page = state_->make_page();
    state_->make_page = {};
  }
  return state_->page;
}

std::uint64_t Statistics::samples() const { return state_->statistics->samples; }
std::vector<std::byte> Statistics::bytes() const { return write_stats(*state_->statistics); }
Result<Done> Statistics::save(const std::string& path) const { return result_of(saved(path, bytes())); }

Result<Program> Program::open(const std::string& path) {
  auto file = open_file(path);
  if (!file) return public_error(file.error());
  if (file->kind != FileKind::kProgram) {
    return v1::Error{ErrorCode::kBadInput, fmt::format("{} is not a program file (.pte)", path)};
  }
  const Blob bytes = file->bytes;
  return Program(
      std::make_shared<const State>(State{*std::move(file), bytes, report_of("", {}), std::make_shared<MethodPool>()}));
}

std::span<const std::byte> Program::bytes() const { return state_->file.bytes.bytes(); }
Report Program::report() const { return state_->report; }
Result<Done> Program::save(const std::string& path) const { return result_of(saved(path, bytes())); }

Result<std::vector<Tensor>> Program::run(const Sample& inputs) const {
  const auto outputs = [&]() -> Expected<std::vector<Tensor>> {
    run::Method method = TRY(state_->methods->take(state_->runnable));
    std::vector<Tensor> found = TRY(outputs_of(method, inputs));
    state_->methods->give_back(std::move(method));
    return found;
  };
  return result_of(outputs());
}

Result<Runner> Runner::create(const Program& program) {
  auto method = run::Method::load(program.state().runnable);
  if (!method) return public_error(method.error());
  return Runner(std::make_shared<State>(State{*std::move(method)}));
}

Result<std::vector<Tensor>> Runner::run(const Sample& inputs) { return result_of(outputs_of(state_->method, inputs)); }

void Runner::reset() { state_->method.reset(); }

Result<std::string> Program::inspect() const {
  const auto text = [&]() -> Expected<std::string> {
    return to_json(TRY(summarize_program(state_->file.path, state_->file.bytes)));
  };
  return result_of(text());
}

Result<Report> Program::evaluate(const Model& reference, const Data& data, const Progress& progress,
                                 std::optional<std::size_t> threads) const {
  Watch watch(progress);
  const auto evaluated = [&]() -> Expected<Report> {
    Options options;
    options.target = local_float_target().name;
    const OpenModel& opened = *reference.state().opened;
    Diagnostics diagnostics = opened.diagnostics;
    EvaluateOptions wanted{TRY(prepare_options(options)), TRY(data_options(data)), {}};
    wanted.program.threads = threads.value_or(available_cpus());
    const OpenFile file{state_->file.path, state_->runnable, FileKind::kProgram};
    Evaluation evaluation = TRY(evaluate_program(
        file, [&](const SizesOfInputs&) { return &opened; }, wanted, diagnostics,
        [&](double fraction) { return watch.show("evaluate", fraction); }));
    EvalSummary summary{file.path, std::move(evaluation), diagnostics.entries()};
    std::string json = to_json(summary);
    return report_of(std::move(json), [summary = std::move(summary), program = state_->file]() mutable {
      if (auto found = take_apart_program(program.path, program.bytes, {})) summary.program = *std::move(found);
      return page_of(summary);
    });
  };
  return watch.result(evaluated());
}

std::string version() { return std::string(isthmus::version()); }

std::vector<std::string> targets() {
  std::vector<std::string> names;
  for (const TargetDesc* target : all_targets()) names.emplace_back(target->name);
  return names;
}

Result<Report> check(const Model& model, const Options& options, const Progress& progress) {
  Watch watch(progress);
  const auto checked = [&]() -> Expected<Report> {
    Session session = TRY(session_of(model, options, {}, watch));
    TRY(session.place(WithData::kNo));
    TRY(session.demand_runnable());
    CompileSummary summary = summarize(session);
    std::string json = to_json(summary);
    return report_of(std::move(json), std::move(summary), std::move(session));
  };
  return watch.result(checked());
}

Result<Report> explain(const Model& model, const Options& options, const std::string& node,
                       const std::optional<Data>& data, const Progress& progress) {
  Watch watch(progress);
  const auto explained = [&]() -> Expected<Report> {
    Session session = TRY(session_of(model, options, data.value_or(Data()), watch));
    TRY(session.place(data ? WithData::kYes : WithData::kNo));
    std::string json = TRY(explain(session, node, {.is_json = true}));
    CompileSummary summary = summarize(session);
    if (const Expected<void> runnable = session.demand_runnable(); !runnable) summary.error = runnable.error();
    return report_of(std::move(json), std::move(summary), std::move(session), node);
  };
  return watch.result(explained());
}

Result<Statistics> calibrate(const Model& model, const Options& options, const Data& data, const Progress& progress) {
  Watch watch(progress);
  const auto calibrated = [&]() -> Expected<Statistics> {
    Session session = TRY(session_of(model, options, data, watch));
    auto found = std::make_shared<const isthmus::Statistics>(TRY(session.calibrate()));
    return Statistics(std::make_shared<const Statistics::State>(Statistics::State{std::move(found)}));
  };
  return watch.result(calibrated());
}

Result<Program> compile(const Model& model, const Options& options, const Data& data, const Progress& progress) {
  Watch watch(progress);
  const auto compiled = [&]() -> Expected<Program> { return program_of(TRY(session_of(model, options, data, watch))); };
  return watch.result(compiled());
}

Result<Program> compile(const Model& model, const Options& options, const Statistics& statistics,
                        const Progress& progress) {
  Watch watch(progress);
  const auto compiled = [&]() -> Expected<Program> {
    SessionOptions wanted = TRY(session_options(options, {}));
    wanted.data.statistics = statistics.state().statistics;
    return program_of(TRY(Session::create(model.state().opened, std::move(wanted), watch.of_session())));
  };
  return watch.result(compiled());
}

Result<std::vector<Tensor>> run(const Model& model, const Sample& inputs) {
  const auto outputs = [&]() -> Expected<std::vector<Tensor>> {
    const OpenModel& opened = *model.state().opened;
    const std::vector<isthmus::Tensor> given = TRY(tensors_of(inputs));
    Diagnostics diagnostics;
    const Graph graph = TRY(within(canonicalize(opened.model.graph, diagnostics), opened.path));
    return public_tensors(TRY(within(interpret(graph, given), opened.path)));
  };
  return result_of(outputs());
}

}  // namespace isthmus::v1
