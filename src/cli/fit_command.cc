// isthmus fit
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/untrusted_text.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "program/fit/fit.h"
#include "report/fit.h"
#include "session/open_model.h"

namespace isthmus {
namespace {

struct FitOptions {
  std::string file;
  std::string method = "forward";
  std::optional<std::uint64_t> sram, flash;
  int bits = 64;
  std::string ops_yaml;
  CommonFlags common;
};

Expected<ExitCode> fit_command(const FitOptions& options) {
  const OpenFile file = TRY(open_file(options.file));
  if (file.kind != FileKind::kProgram) {
    return bad_input(fmt::format("{} is {}: fit takes a program file (.pte)", file.path, name_of(file.kind)));
  }
  const pte::Program program = TRY(within(pte::read_program(file.bytes), file.path));
  const pte::Plan* plan = pte::find_plan(program, options.method);
  if (plan == nullptr) return bad_input(fmt::format("{} has no method {}", file.path, shown(options.method)));
  auto delegates = TRY(within(fit::delegate_memory(program, *plan), file.path));
  const FitSummary summary{options.file, options.method,
                           fit::demand_of(program, *plan, file.bytes.size(),
                                          static_cast<std::uint64_t>(options.bits / 8), std::move(delegates)),
                           options.sram, options.flash};
  if (!options.ops_yaml.empty()) {
    const std::string text = fit::selected_operators(summary.demand, options.file);
    TRY(write_file(options.ops_yaml, std::as_bytes(std::span(text))));
  }
  if (options.common.wants_json) {
    print_output(to_json(summary));
  } else if (options.common.speaks()) {
    print_output(to_text(summary, {.has_colour = stdout_has_colour()}));
  }
  const std::vector<std::string> reasons = too_large(summary);
  for (const std::string& reason : reasons) {
    print_error(Error(ErrorKind::kBadInput, fmt::format("{} does not fit: {}", options.file, reason)));
  }
  return reasons.empty() ? kExitFine : kExitGate;
}

}  // namespace

Command add_fit(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "fit", "Reports the memory, flash and kernels that a program needs, and whether it fits a device.");
  const auto options = std::make_shared<FitOptions>();
  command->add_option("FILE", options->file, "a program file (.pte)")->required();
  // Kibibytes and mebibytes, as boards are described.
  command->add_option("--sram", options->sram, "the SRAM of the device, in bytes, or with K or M after the number")
      ->transform(CLI::AsSizeValue(false));
  command->add_option("--flash", options->flash, "the flash for the program file, likewise")
      ->transform(CLI::AsSizeValue(false));
  command->add_option("--bits", options->bits, "the pointer size of the device, in bits")
      ->check(CLI::IsMember({32, 64}))
      ->capture_default_str();
  command->add_option("--ops-yaml", options->ops_yaml, "write the list of kernels for ExecuTorch's selective build");
  command->add_option("--method", options->method, "the method of a .pte file")->capture_default_str();
  add_common_flags(*command, options->common);
  command->footer(
      "Exit code 3: the program does not fit; one line says by how much.\n\nExamples:\n  isthmus fit model.pte --sram "
      "2M --flash 4M\n  isthmus fit model.pte --bits 32 --ops-yaml selected_operators.yaml");
  return {command, [options] { return fit_command(*options); }};
}

}  // namespace isthmus
