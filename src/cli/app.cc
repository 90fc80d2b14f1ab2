// The table of commands, and the one that is called.
#include "cli/app.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/last_words.h"
#include "cli/limits.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "session/versions.h"

namespace isthmus {

ExitCode usage_error(const std::string& message, const CommonFlags& flags) {
  print_failure(Error(ErrorKind::kBadInput, message), "usage", flags.wants_json);
  return kExitUsage;
}

namespace {

// `isthmus help [COMMAND]` as `isthmus [COMMAND] --help`.
std::vector<const char*> without_help_command(std::span<const char* const> words) {
  std::vector<const char*> result(words.begin(), words.end());
  if (words.size() < 2 || std::string_view(words[1]) != "help") return result;
  result.erase(result.begin() + 1);
  result.push_back("--help");
  return result;
}

int run_parsed(const CommandTable& table, std::span<const char* const> given) {
  CLI::App& app = *table.app;
  const std::vector<const char*> words = without_help_command(given);
  const auto is_json = [](const char* word) { return std::string_view(word) == "--json"; };
  const CommonFlags flags{.wants_json = std::ranges::any_of(words, is_json)};
  if (flags.wants_json) make_last_words_json();
  if (const auto mistake = unknown_word(app, std::span(words).subspan(1))) return usage_error(*mistake, flags);
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success)) {
      return usage_error(text_of(error, app), flags);
    }
    app.exit(error);
    return kExitFine;
  }
  for (const Command& command : table.commands) {
    if (!command.app->parsed()) continue;
    const Expected<ExitCode> code = command.action();
    if (code) return *code;
    print_failure(code.error(), "failed", flags.wants_json);
    return kExitFailed;
  }
  return kExitFine;
}

}  // namespace

CommandTable make_command_table() {
  auto owned = std::make_unique<CLI::App>(
      "Isthmus quantizes PyTorch (.pt2) and ONNX models, compiles them to ExecuTorch programs (.pte) for edge devices, "
      "runs them, and explains where each operator runs and why.",
      "isthmus");
  CLI::App& app = *owned;
  app.set_version_flag(
      "--version", [] { return versions_text(); }, "print the version and the supported file formats");
  app.require_subcommand(1);
  app.footer(
      "Examples:\n  isthmus check model.pt2 --target xnnpack\n  isthmus compile model.pt2 --target xnnpack --calibrate "
      "calib.npz -o model.pte\n  isthmus run model.pte --input image.npy -o out\n\n`isthmus help COMMAND` lists the "
      "options of a command, with examples.");
  std::vector<Command> commands{add_check(app),   add_compile(app), add_explain(app),   add_calibrate(app),
                                add_merge(app),   add_run(app),     add_eval(app),      add_bench(app),
                                add_inspect(app), add_diff(app),    add_fit(app),       add_sweep(app),
                                add_targets(app), add_verify(app),  add_preprocess(app)};
  return {std::move(owned), std::move(commands)};
}

int run_command_line(int argc, const char* const* argv) try {
  const CommandTable table = make_command_table();
  const int code = run_parsed(table, {argv, static_cast<std::size_t>(argc)});
  if (flush_output()) return code;
  print_failure(Error(ErrorKind::kEnvironment, "cannot write to standard output"), "failed", false);
  return code == kExitFine ? kExitFailed : code;
} catch (const std::bad_alloc&) {
  end_with_words({"out of memory", out_of_memory_hint()});
} catch (const std::exception& error) {
  end_with_words({"internal error: ", error.what()});
}

}  // namespace isthmus
