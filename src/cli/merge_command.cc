// isthmus merge
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/bytes.h"
#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "evaluate/evaluation_file.h"
#include "report/eval.h"
#include "report/stats.h"
#include "session/open_model.h"
#include "stats/stats_file.h"

namespace isthmus {
namespace {

struct MergeOptions {
  std::vector<std::string> files;
  std::string output;
  bool takes_some = false;  // parts that lack others
  CommonFlags common;
};

// The file among the first ones that one cannot be joined with, if it can be told.
std::string partner_of(const MergeOptions& options, const std::vector<std::optional<Manifest>>& parts) {
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (parts[i].has_value() != parts.back().has_value()) return options.files[i];
    if (!parts[i]) continue;
    Manifest tried = *parts[i];
    if (!tried.join(*parts.back())) return options.files[i];
  }
  return options.files[0];
}

// `read` gives what a file holds, `part_of` its manifest.
template <class Content, class Read, class PartOf>
Expected<Content> merge_files(const MergeOptions& options, const Read& read, const PartOf& part_of) {
  Content merged = TRY(within(read(TRY(map_file(options.files[0]))), options.files[0]));
  std::vector<std::optional<Manifest>> parts{part_of(merged)};
  for (std::size_t i = 1; i < options.files.size(); ++i) {
    Content next = TRY(within(read(TRY(map_file(options.files[i]))), options.files[i]));
    parts.push_back(part_of(next));
    TRY(within(merged.merge(next),
               [&] { return fmt::format("{} and {}", partner_of(options, parts), options.files[i]); }));
  }
  return merged;
}

// What is of all samples needs no manifest. Where some are missing, says how they are made.
Expected<void> close(std::optional<Manifest>& part, const MergeOptions& options) {
  if (!part) return {};
  if (part->is_whole()) {
    part.reset();
    return {};
  }
  if (options.takes_some) return {};
  const std::vector<Shard> shards = part->missing_shards();
  std::string advice;
  if (!shards.empty()) {
    for (const Shard shard : shards) print_note(part->command_of(shard) + "\n");
    advice = shards.size() == 1 ? "; the command above makes them" : "; the commands above make them";
  }
  return bad_input(fmt::format("{}{}, or write the available parts with --partial", part->missing_text(), advice));
}

Expected<void> merge_statistics(const MergeOptions& options) {
  const auto part_of = [](const Statistics& statistics) { return statistics.part; };
  Statistics merged = TRY(merge_files<Statistics>(options, read_stats, part_of));
  TRY(close(merged.part, options));
  TRY(write_file(options.output, write_stats(merged)));
  const StatsSummary summary{options.output, &merged};
  if (options.common.wants_json) print_output(to_json(summary));
  if (options.common.speaks()) {
    print_output(fmt::format("{}: {} values, {} samples\n", options.output, merged.values.size(), merged.samples));
  }
  return {};
}

// Evaluations know how to merge; this is one with the name of its program.
struct NamedEvaluation : EvaluationFile {
  Expected<void> merge(const NamedEvaluation& other) { return evaluation.merge(other.evaluation); }
};

Expected<void> merge_evaluations(const MergeOptions& options) {
  const auto read = [](const Blob& file) -> Expected<NamedEvaluation> {
    return NamedEvaluation{TRY(read_evaluation(file))};
  };
  const auto part_of = [](const NamedEvaluation& file) { return file.evaluation.part; };
  NamedEvaluation merged = TRY(merge_files<NamedEvaluation>(options, read, part_of));
  TRY(close(merged.evaluation.part, options));
  TRY(write_file(options.output, write_evaluation(merged)));
  const EvalSummary summary{
      .file = merged.program, .evaluation = std::move(merged.evaluation), .said = {}, .output = options.output};
  if (options.common.wants_json) print_output(to_json(summary));
  if (options.common.speaks()) print_output(to_text(summary));
  return {};
}

Expected<void> merge(const MergeOptions& options) {
  TRY(demand_writable(options.output, options.files));
  const OpenFile first = TRY(open_file(options.files[0]));
  if (first.kind == FileKind::kEvaluation) return merge_evaluations(options);
  if (first.kind == FileKind::kStatistics) return merge_statistics(options);
  return bad_input(fmt::format("{} is {}; statistics (.stats) and evaluations (.eval) can be merged", first.path,
                               name_of(first.kind)));
}

}  // namespace

Command add_merge(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "merge",
      "Joins the shards of a calibration or an evaluation, or statistics of one model from several data sets.");
  const auto options = std::make_shared<MergeOptions>();
  command->add_option("FILES", options->files, "files written by `isthmus calibrate` or `isthmus eval`")
      ->required()
      ->expected(1, -1);
  command->add_option("-o,--output", options->output, "the joined file to write")->required();
  command->add_flag(
      "--partial", options->takes_some,
      "write the available parts even if some are missing; the result can be joined with the others later");
  add_common_flags(*command, options->common);
  command->footer(
      "Examples:\n  isthmus merge a.stats b.stats -o all.stats\n"
      "  isthmus merge model.*-of-8.stats -o model.stats\n"
      "  isthmus merge model.*-of-8.eval -o model.eval");
  return {command, [options] { return fine(merge(*options)); }};
}

}  // namespace isthmus
