// Rows, bars and numbers for a person to read.
#include "report/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/counts.h"
#include "base/untrusted_text.h"

namespace isthmus {
namespace {

std::string one_line(std::string_view text) {
  std::string line = harmless(text);
  std::ranges::replace(line, '\n', '?');
  return line;
}

}  // namespace

Counts in_order(const std::map<std::string, std::size_t>& counts) {
  Counts result(counts.begin(), counts.end());
  std::ranges::stable_sort(result, std::greater<>(), &Counts::value_type::second);
  return result;
}

void Rows::add(std::string_view label, std::string_view text) {
  const bool is_bold = style_.has_colour && !label.empty();
  text_ += fmt::format("{}{:<12}{}{}\n", is_bold ? "\033[1m" : "", label, is_bold ? "\033[0m" : "", one_line(text));
}

void Rows::add(std::string_view label, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) add(&text == &texts.front() ? label : "", text);
}

void Rows::add_bars(const Counts& counts) {
  constexpr std::size_t kLongest = 30;
  std::size_t max = 1;
  for (const auto& [name, count] : counts) max = std::max(max, count);
  for (const auto& [name, count] : counts) {
    std::string bar;
    for (std::size_t i = 0; i < (count * kLongest + max - 1) / max; ++i) bar += "▆";
    text_ += fmt::format("  {:>5}  {:<44} {}{}{}\n", count, one_line(name), style_.has_colour ? "\033[36m" : "", bar,
                         style_.has_colour ? "\033[0m" : "");
  }
}

std::string human_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024 * 1024));
}

std::string db_text(double db, int digits) {
  return fmt::format("{:.{}f} dB{}", finite_db(db), digits, db >= kExactDb ? " (no difference)" : "");
}
std::string db_number(double db) { return fmt::format("{:.1f}", finite_db(db)); }
double finite_db(double db) { return std::min(db, kExactDb); }
double db_of_sharing(double rounding, double alone) { return std::isfinite(rounding) ? alone - rounding : 0; }

std::string counted_host_calls(std::uint64_t calls, std::uint64_t io_calls) {
  const std::string text = counted(calls, "host call");
  return io_calls == 0 ? text : fmt::format("{}, {} of them I/O conversions", text, io_calls);
}

}  // namespace isthmus
