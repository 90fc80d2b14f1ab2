// The form that all summaries for a person have: labels at the left, and bars for what is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace isthmus {

struct TextStyle {
  bool has_colour = false;
};

// How often each of some names occurs: the most frequent first, equally frequent ones by name.
using Counts = std::vector<std::pair<std::string, std::size_t>>;
Counts in_order(const std::map<std::string, std::size_t>& counts);

// Names and texts may come from untrusted files: no control character of theirs gets through.
class Rows {
 public:
  explicit Rows(TextStyle style) : style_(style) {}

  // Without a label it continues the row above.
  void add(std::string_view label, std::string_view text);
  // The first one with the label, the others below it.
  void add(std::string_view label, const std::vector<std::string>& texts);
  // One bar for each.
  void add_bars(const Counts& counts);

  const std::string& text() const { return text_; }

 private:
  TextStyle style_;
  std::string text_;
};

std::string human_bytes(std::uint64_t bytes);
// "32.1 dB", "no difference".
inline constexpr double kExactDb = 200;  // what is exact is said to be this good: JSON has no infinity
double finite_db(double db);
std::string db_text(double db, int digits = 1);
// "32.1", "exact".
std::string db_number(double db);
// Of what a value loses by rounding, what it would not lose alone; 0 where it loses nothing.
double db_of_sharing(double rounding, double alone);
// "7 host calls, 3 of them I/O conversions".
std::string counted_host_calls(std::uint64_t calls, std::uint64_t io_calls);

}  // namespace isthmus
