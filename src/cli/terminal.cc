// Colours, errors and warnings on the terminal.
#include "cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/untrusted_text.h"
#include "report/error.h"

namespace isthmus {
namespace {

// A terminal that knows escape sequences.
bool is_terminal(int descriptor) {
  const char* term = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && (term == nullptr || std::string_view(term) != "dumb");
}

bool has_colour(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  return is_terminal(descriptor) && (no_colour == nullptr || *no_colour == '\0');
}

std::string painted(std::string_view text, std::string_view code) {
  return has_colour(STDERR_FILENO) ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

std::atomic<bool> has_printed = false;  // on standard output

// Where standard error is closed or full, the exit code is left to say it.
void say(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace

bool stdout_has_colour() { return has_colour(STDOUT_FILENO); }

ProgressBar::ProgressBar(std::string label) : label_(std::move(label)), is_shown_(is_terminal(STDERR_FILENO)) {}

void ProgressBar::show(double fraction) {
  constexpr int kCells = 40;
  const int cells = std::clamp(static_cast<int>(fraction * kCells), 0, kCells);
  if (!is_shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (fraction < fraction_) start_ = now;
  fraction_ = fraction;
  std::string left = time_left(fraction, std::chrono::duration<double>(now - start_).count());
  if (cells == cells_ && left == left_) return;
  cells_ = cells;
  left_ = std::move(left);
  std::string bar;
  for (int i = 0; i < kCells; ++i) bar += i < cells ? "▆" : " ";
  say(fmt::format("\r{} {} {:>3} %  {}\033[K", label_, bar, cells * 100 / kCells, left_));
}

void ProgressBar::clear() {
  if (cells_ < 0) return;
  say("\r\033[K");
  cells_ = -1;
}

std::string time_left(double fraction, double seconds) {
  if (fraction <= 0 || fraction >= 1 || seconds < 1) return {};
  const auto left = static_cast<long>(std::ceil(seconds * (1 - fraction) / fraction));
  return left < 60 ? fmt::format("{} s left", left) : fmt::format("{}:{:02} min left", left / 60, left % 60);
}

void print_output(std::string_view text) {
  has_printed = true;
  std::fwrite(text.data(), 1, text.size(), stdout);
}

bool has_printed_output() { return has_printed; }

void print_note(std::string_view text) { say(text); }

bool flush_output() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

void print_error(const Error& error) { say(fmt::format("{} {}\n", painted("error:", "1;31"), harmless(error.text()))); }

void print_failure(const Error& error, std::string_view kind, bool wants_json) {
  if (wants_json && !has_printed) print_output(error_json(error, kind));
  print_error(error);
}

void print_diagnostics(const Diagnostics& diagnostics) {
  for (const Diagnostic& entry : diagnostics.entries()) {
    const bool is_warning = entry.severity == Severity::kWarning;
    say(fmt::format("{} {} [{}]\n", is_warning ? painted("warning:", "1;33") : painted("note:", "1;36"),
                    harmless(entry.text), entry.code));
  }
}

}  // namespace isthmus
