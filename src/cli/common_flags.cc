// --json, -q, -v.
#include "cli/common_flags.h"

#include <fmt/format.h>

#include <charconv>

#include "base/untrusted_text.h"

namespace isthmus {

void add_common_flags(CLI::App& command, CommonFlags& flags, const std::string& verbose) {
  command.add_flag("--json", flags.wants_json, "print one JSON object on standard output, errors included");
  command.add_flag("-q,--quiet", flags.is_quiet, "print errors only");
  if (!verbose.empty()) command.add_flag("-v,--verbose", flags.is_verbose, verbose);
}

CLI::Validator at_least(std::int64_t min) {
  return {[min](const std::string& text) -> std::string {
            std::int64_t number = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
            const bool is_number = error == std::errc() && end == text.data() + text.size();
            if (is_number && number >= min) return {};
            return fmt::format("{} is not a whole number of {} or more", shown(text), min);
          },
          fmt::format("{} or more", min)};
}

}  // namespace isthmus
