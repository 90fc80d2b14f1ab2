// Colours, errors and warnings on the terminal.
#include "cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace isthmus {
namespace {

bool has_colour(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool is_refused =
      (no_colour != nullptr && *no_colour != '\0') || (term != nullptr && std::string_view(term) == "dumb");
  return !is_refused && ::isatty(descriptor) == 1;
}

std::string painted(std::string_view text, std::string_view code) {
  return has_colour(STDERR_FILENO) ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

// Names from files go to a terminal: control characters in them must not.
std::string harmless(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    result += (byte < ' ' && c != '\n') || byte == 0x7f ? '?' : c;
  }
  return result;
}

}  // namespace

bool stdout_has_colour() { return has_colour(STDOUT_FILENO); }

void print_error(const Error& error) {
  fmt::print(stderr, "{} {}\n", painted("error:", "1;31"), harmless(error.text()));
}

void print_diagnostics(const Diagnostics& diagnostics) {
  for (const Diagnostic& entry : diagnostics.entries()) {
    const bool is_warning = entry.severity == Severity::kWarning;
    fmt::print(stderr, "{} [{}] {}\n", is_warning ? painted("warning:", "1;33") : painted("note:", "1;36"), entry.code,
               harmless(entry.text));
  }
}

}  // namespace isthmus
