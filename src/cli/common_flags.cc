// --json, -q, -v.
#include "cli/common_flags.h"

namespace isthmus {

void add_common_flags(CLI::App& command, CommonFlags& flags, const std::string& verbose) {
  command.add_flag("--json", flags.wants_json, "print one JSON object on standard output, errors included");
  command.add_flag("-q,--quiet", flags.is_quiet, "print errors only");
  if (!verbose.empty()) command.add_flag("-v,--verbose", flags.is_verbose, verbose);
}

}  // namespace isthmus
