// isthmus inspect
#include <fmt/format.h>

#include <memory>

#include "base/bytes.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "formats/pt2.h"
#include "ir/text.h"
#include "load/load.h"
#include "report/inspect.h"

namespace isthmus {
namespace {

struct Options {
  std::string file;
  bool wants_json = false;
  bool wants_ir = false;
};

Expected<void> inspect(const Options& options) {
  const Blob bytes = TRY(map_file(options.file));
  Diagnostics diagnostics;
  const pt2::Archive archive = TRY(within(pt2::read_archive(bytes), options.file));
  const Model model = TRY(within(load(archive, diagnostics), options.file));
  if (!options.wants_json) print_diagnostics(diagnostics);
  if (options.wants_ir) {
    fmt::print("{}", print(model.graph));
    return {};
  }
  const ModelSummary summary = summarize(options.file, archive, model, diagnostics);
  fmt::print("{}", options.wants_json ? to_json(summary) : to_text(summary, {.has_colour = stdout_has_colour()}));
  return {};
}

}  // namespace

Command add_inspect(CLI::App& app) {
  CLI::App* command = app.add_subcommand("inspect", "What is in a .pt2 file: inputs, outputs, parameters, operators.");
  const auto options = std::make_shared<Options>();
  command->add_option("FILE", options->file, "a torch.export archive (.pt2)")->required();
  CLI::Option* json = command->add_flag("--json", options->wants_json, "one JSON object on standard output");
  command->add_flag("--ir", options->wants_ir, "print the graph, one node per line")->excludes(json);
  command->footer(
      "Examples:\n  isthmus inspect model.pt2\n  isthmus inspect model.pt2 --json\n  isthmus inspect model.pt2 --ir");
  return {command, [options] { return inspect(*options); }};
}

}  // namespace isthmus
