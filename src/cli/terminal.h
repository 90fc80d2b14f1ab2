// What the command line knows about the terminal it talks to.
#pragma once

#include <chrono>
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

  // 0 to 1; cheap where the bar looks as before. Once something is done it says how long the rest will take; a fraction
  // below the one before begins anew.
  void show(double fraction);
  void clear();

 private:
  std::string label_;
  bool is_shown_;  // at all
  int cells_ = -1;
  double fraction_ = 0;
  std::string left_;  // the time, in words
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Results on standard output. A device that takes no more is found by `flush_output`.
void print_output(std::string_view text);
bool has_printed_output();
// As it is, on standard error.
void print_note(std::string_view text);
// False where something of the output got lost.
bool flush_output();

void print_error(const Error& error);
// An error on standard error and, with --json, as the JSON object of the command where it has printed none.
void print_failure(const Error& error, std::string_view kind, bool wants_json);
void print_diagnostics(const Diagnostics& diagnostics);

// "3 s left", "2:05 min left"; nothing where too little is done to tell.
std::string time_left(double fraction, double seconds);

}  // namespace isthmus
