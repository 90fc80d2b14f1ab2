// A point goes the way of `compile`, then that of `eval`, then that of `bench`.
#include "cli/sweep/point.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/block.h"
#include "base/bytes.h"
#include "base/output_file.h"
#include "base/process.h"
#include "base/sha256.h"
#include "cli/contradictions.h"
#include "cli/stopwatch.h"
#include "cli/usage.h"
#include "program/run/measure.h"
#include "report/compile.h"
#include "session/content_hash.h"
#include "session/evaluate_program.h"
#include "session/program.h"
#include "session/versions.h"
#include "targets/registry.h"

namespace isthmus {
namespace {

// The words of `compile` that make the point's program, but for its output.
Expected<std::vector<std::string>> words_of(const SweepPoint& point) {
  std::vector<std::string> words{"compile", point.model.file, "--target", point.target};
  if (!point.model.calibrate.empty()) words.insert(words.end(), {"--calibrate", point.model.calibrate});
  for (const std::string& options : {point.model.options, point.configuration.options}) {
    for (std::string& word : TRY(split_words(options))) words.push_back(std::move(word));
  }
  return words;
}

Expected<SessionFlags> parse(const std::vector<std::string>& words, std::size_t threads) {
  SessionFlags flags;
  flags.threads = threads;
  CLI::App app("", "isthmus");
  CLI::App* command = app.add_subcommand("compile");
  add_session_options(*command, flags);
  add_calibration_options(*command, flags, "the example inputs of the model");
  add_program_file_options(*command, flags);
  std::vector<const char*> given{"isthmus"};
  for (const std::string& word : words) given.push_back(word.c_str());
  if (const auto mistake = unknown_word(app, std::span(given).subspan(1))) return bad_input(*mistake);
  try {
    app.parse(static_cast<int>(given.size()), given.data());
  } catch (const CLI::ParseError& error) {
    return bad_input(text_of(error, app));
  }
  if (const auto mistake = contradiction_of(flags)) return bad_input(*mistake);
  return flags;
}

Expected<Evaluation> evaluate(const SweepPoint& point, const SessionFlags& flags, const OpenFile& program) {
  const auto constants = TRY(read_constants(flags.model.constants));
  EvaluateOptions options;
  options.prepare.target = &local_float_target();
  options.data.path = point.model.test;
  options.data.labels_file = point.model.labels;
  options.data.media = flags.data.media;
  options.data.sequence = flags.data.sequence;
  options.program.threads = flags.threads;
  std::optional<OpenModel> reference;
  const auto open_reference = [&](const SizesOfInputs& sizes) -> Expected<const OpenModel*> {
    reference = TRY(open_model(point.model.file, {.constants = constants, .sizes = sizes}));
    return &*reference;
  };
  Diagnostics said;
  return evaluate_program(program, open_reference, options, said);
}

void add_evaluation(SweepFigures& figures, const Evaluation& found) {
  const auto share = [&](std::uint64_t part) { return static_cast<double>(part) / static_cast<double>(found.rows); };
  figures.samples = found.samples;
  if (found.rows > 0) figures.agreement = share(found.agreeing);
  if (found.rows > 0 && found.has_labels) {
    figures.top1 = share(found.right);
    figures.top1_reference = share(found.right_reference);
  }
  for (const SignalToNoise& output : found.outputs) {
    figures.sqnr_db = std::min(figures.sqnr_db.value_or(kExactDb), finite_db(output.db()));
  }
}

}  // namespace

SweepRun::SweepRun(const SweepPlan& plan, std::size_t threads, double seconds)
    : folder_(plan.folder), threads_(threads), seconds_(seconds) {
  allow_spilling(kResidentBytes);
}

std::string SweepRun::path_of(const SweepPoint& point, const char* ending) const {
  return (std::filesystem::path(folder_) / (point.name + ending)).string();
}

Expected<std::string> SweepRun::hash_of(const std::string& path, Hash hash) {
  if (path.empty() || is_command(path)) return path;
  const std::lock_guard lock(hashes_mutex_);
  if (const auto known = hashes_.find(path); known != hashes_.end()) return known->second;
  return hashes_[path] = TRY(hash(path));
}

Expected<SweepRun::Work> SweepRun::work_of(const SweepPoint& point) {
  const std::vector<std::string> words = TRY(words_of(point));
  Work work{TRY(parse(words, threads_)), {}};
  std::string all = versions_text();
  for (const std::string& word : words) all += "\n" + word;
  all += "\n" + TRY(hash_of(point.model.file, model_hash));
  for (const std::string& path : {point.model.calibrate, point.model.test, point.model.labels, work.flags.quant.file}) {
    all += "\n" + TRY(hash_of(path, content_hash));
  }
  work.key = sha256_hex(std::as_bytes(std::span(all)));
  return work;
}

std::optional<SweepRecord> SweepRun::record_of(const SweepPoint& point, const Work& work) const {
  const auto file = map_file(path_of(point, ".json"));
  if (!file) return std::nullopt;
  auto record = read_record(*file);
  if (!record || record->key != work.key) return std::nullopt;
  if (record->figures && !std::filesystem::exists(path_of(point, ".pte"))) return std::nullopt;
  return *std::move(record);
}

bool SweepRun::is_done(const SweepPoint& point) {
  const auto work = work_of(point);
  return work && record_of(point, *work);
}

SweepRow SweepRun::row_of(const SweepPoint& point) {
  SweepRow row{.point = point.name,
               .model = point.model.name,
               .target = point.target,
               .configuration = point.configuration.name,
               .program = path_of(point, ".pte")};
  const auto result = [&]() -> Expected<SweepFigures> {
    const Work work = TRY(work_of(point));
    if (auto record = record_of(point, work)) {
      row.was_done = true;
      return std::move(record->figures);
    }
    Expected<SweepFigures> figures = fail(ErrorKind::kEnvironment, "out of memory");
    try {
      figures = figures_of(point, work);
    } catch (const std::bad_alloc&) {  // of this point; others may be smaller
    } catch (const std::exception& error) {
      figures = fail(ErrorKind::kEnvironment, fmt::format("internal error: {}", error.what()));
    }
    if (!figures && figures.error().kind == ErrorKind::kEnvironment) return figures;
    const std::string text = write_record({work.key, figures});
    TRY(write_file(path_of(point, ".json"), std::as_bytes(std::span(text))));
    return figures;
  };
  row.figures = result();
  return row;
}

Expected<SweepFigures> SweepRun::figures_of(const SweepPoint& point, const Work& work) {
  const Stopwatch watch;
  SweepFigures figures;
  {
    const std::shared_lock busy(machine_);
    const SessionFlags& flags = work.flags;
    auto model = std::make_shared<OpenModel>(TRY(open_model(flags.model.file, TRY(input_request(flags.model)))));
    Session session = TRY(Session::create(std::move(model), TRY(session_options(flags))));
    TRY(session.place(WithData::kYes));
    TRY(session.demand_runnable());
    TRY(session.compile());
    CompileSummary summary = summarize(session);
    const std::string path = path_of(point, ".pte");
    add_file(summary, path, session);
    figures.nodes = summary.nodes;
    figures.delegated_nodes = summary.delegated_nodes;
    figures.delegates = summary.delegates;
    figures.bytes = summary.file->bytes;
    if (summary.file->cost) {
      figures.cycles = summary.file->cost->cycles;
      figures.cycles_source = summary.file->cost->source;
    }
    const Compiled& compiled = session.compiled();
    const Blob runnable(compiled.runnable(), nullptr);
    add_evaluation(figures, TRY(evaluate(point, flags, {path, runnable, FileKind::kProgram})));
    TRY(write_file(path, compiled.bytes));
  }
  if (!figures.cycles) figures.ms = TRY(milliseconds_of(point));
  figures.seconds = watch.seconds();
  return figures;
}

Expected<double> SweepRun::milliseconds_of(const SweepPoint& point) {
  const std::unique_lock alone(machine_);
  LoadedProgram program = TRY(load_program(TRY(open_file(path_of(point, ".pte"))), {}));
  const auto inputs = TRY(run::plain_inputs(program.method, program.max_bytes));
  return TRY(run::measure(program.method, inputs, {.seconds = seconds_, .after = {}})).p50_seconds * 1e3;
}

}  // namespace isthmus
