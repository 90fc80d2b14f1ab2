// Bars for the stages that take long.
#include "cli/progress.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iterator>
#include <string>
#include <string_view>

namespace isthmus {
namespace {

// The stages that may take long.
struct BarRow {
  Stage stage;
  std::string_view label;
};
constexpr BarRow kBars[] = {
    {Stage::kCalibrate, "calibrating"},
    {Stage::kQuantize, "searching"},
    {Stage::kCompare, "evaluating"},
};

std::atomic<bool> is_interrupted{false};  // NOLINT: a signal handler reaches nothing else

void on_interrupt(int signal) {
  is_interrupted = true;
  std::signal(signal, SIG_DFL);
}

}  // namespace

bool TerminalProgress::show(Stage stage, double fraction) {
  if (!is_watching_) {
    former_ = std::signal(SIGINT, on_interrupt);
    is_watching_ = true;
  }
  if (stage != stage_ || (!bar_ && fraction < 1)) {
    bar_.reset();
    const auto row = std::ranges::find(kBars, stage, &BarRow::stage);
    if (row != std::end(kBars)) bar_.emplace(std::string(row->label));
    stage_ = stage;
  }
  if (bar_) bar_->show(fraction);
  if (fraction >= 1) bar_.reset();
  return !is_interrupted;
}

TerminalProgress::~TerminalProgress() {
  if (is_watching_) std::signal(SIGINT, former_);
}

}  // namespace isthmus
