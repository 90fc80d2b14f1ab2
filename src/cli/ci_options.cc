// Reads and writes the files of continuous integration.
#include "cli/ci_options.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>

#include "base/bytes.h"
#include "base/untrusted_text.h"
#include "report/baseline.h"
#include "report/sarif.h"
#include "report/source_paths.h"

namespace isthmus {

void add_ci_options(CLI::App& command, CiOptions& options) {
  command.add_option("--baseline", options.baseline,
                     "exit with 3 if delegates, operators on the CPU, groups or sizes differ from this file");
  command.add_option("--write-baseline", options.new_baseline, "write such a file: small JSON to keep with the model");
  command.add_option(
      "--sarif", options.sarif,
      "write operators on the CPU and warnings as SARIF, by file and line of the model, for code review tools");
}

Expected<void> compare_with_baseline(const CiOptions& options, CompileSummary& summary) {
  if (options.baseline.empty()) return {};
  const Blob file = TRY(map_file(options.baseline));
  const Baseline before = TRY(within(read_baseline(file.text()), options.baseline));
  for (const std::string& line : differences(before, baseline_of(summary))) {
    summary.broken_gates.push_back(fmt::format("differs from {}: {}", harmless(options.baseline), line));
  }
  return {};
}

Expected<void> write_ci_files(const CiOptions& options, const Session& session, const CompileSummary& summary) {
  const auto write = [](const std::string& path, const std::string& text) -> Expected<void> {
    return path.empty() ? Expected<void>() : write_file(path, std::as_bytes(std::span(text)));
  };
  TRY(write(options.new_baseline, to_text(baseline_of(summary))));
  if (options.sarif.empty()) return {};
  return write(options.sarif, to_sarif(summary, source_paths(session.opened(), std::filesystem::current_path())));
}

}  // namespace isthmus
