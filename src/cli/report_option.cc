// Gathers the page's data and writes the file.
#include "cli/report_option.h"

#include <cstddef>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "report/page/page.h"

namespace isthmus {
namespace {

Expected<void> write_text(const std::string& path, const std::string& text) {
  return write_file(path, std::as_bytes(std::span(text)));
}

}  // namespace

CLI::Option* add_report_option(CLI::App& command, std::string& path, const std::string& help) {
  return command.add_option("--report", path, help);
}

Expected<void> write_report(const std::string& path, const CompileSummary& summary, const Session& session,
                            std::vector<ValueError> errors) {
  if (path.empty()) return {};
  return write_text(path, page_of(summary, session, std::move(errors)));
}

Expected<void> write_report(const std::string& path, const EvalSummary& summary) {
  return path.empty() ? Expected<void>() : write_text(path, page_of(summary));
}

Expected<void> write_report(const std::string& path, const SweepSummary& summary) {
  return path.empty() ? Expected<void>() : write_text(path, page_of(summary));
}

}  // namespace isthmus
