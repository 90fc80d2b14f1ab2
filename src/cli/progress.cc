// A bar for the stage that takes long.
#include "cli/progress.h"

#include <atomic>
#include <csignal>

namespace isthmus {
namespace {

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
  if (stage != stage_) {
    bar_.reset();
    if (stage == Stage::kCalibrate) bar_.emplace("calibrating");
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
