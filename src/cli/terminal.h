// What the command line knows about the terminal it talks to.
#pragma once

#include <string>
#include <string_view>

#include "base/diag.h"
#include "base/expected.h"

namespace isthmus {

// A terminal on standard output, NO_COLOR unset and TERM not "dumb".
bool stdout_has_colour();

// How far something has come: a bar on standard error where that is a terminal, else nothing.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { clear(); }

  void show(double fraction);  // 0 to 1; cheap where the bar looks as before
  void clear();

 private:
  std::string label_;
  bool is_shown_;  // at all
  int cells_ = -1;
};

void print_error(const Error& error);
void print_diagnostics(const Diagnostics& diagnostics);

}  // namespace isthmus
