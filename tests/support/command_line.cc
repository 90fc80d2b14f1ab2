// Calls the binary through the shell.
#include "support/command_line.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string_view>

namespace isthmus::test {

Finished CommandLine::isthmus(const std::string& arguments) const { return run("( " + command(arguments) + " )"); }

std::string CommandLine::command(const std::string& arguments) const {
  return fmt::format("{} {}", ISTHMUS_BINARY, arguments);
}

Finished CommandLine::with_fault(const std::string& fault, const std::string& arguments,
                                 const std::string& counts) const {
  return run(fmt::format("( LD_PRELOAD={} ISTHMUS_FAULT={} {} {}; exit $? )", ISTHMUS_FAULTS, fault,
                         counts.empty() ? "" : "ISTHMUS_FAULT_COUNTS=" + counts, command(arguments)));
}

bool CommandLine::can_have_faults() { return !std::string_view(ISTHMUS_FAULTS).empty(); }

Finished CommandLine::example(const std::string& name, const std::string& arguments) const {
  return run(fmt::format("{}/{} {}", ISTHMUS_EXAMPLES, name, arguments));
}

Finished CommandLine::run(const std::string& program) const {
  const std::string command =
      fmt::format("{} >{} 2>{}", program, (folder_ / "out").string(), (folder_ / "err").string());
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(folder_ / "out"), contents(folder_ / "err")};
}

}  // namespace isthmus::test
