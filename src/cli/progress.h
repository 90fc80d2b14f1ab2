// The progress of a session on the terminal, and Ctrl-C.
#pragma once

#include <optional>

#include "cli/terminal.h"
#include "session/stage.h"

namespace isthmus {

// While one lives and has shown something, the first Ctrl-C asks for an orderly end and the second ends at once.
class TerminalProgress {
 public:
  TerminalProgress() = default;
  TerminalProgress(const TerminalProgress&) = delete;
  TerminalProgress& operator=(const TerminalProgress&) = delete;
  ~TerminalProgress();

  // False after Ctrl-C.
  bool show(Stage stage, double fraction);

 private:
  std::optional<ProgressBar> bar_;
  std::optional<Stage> stage_;
  void (*former_)(int) = nullptr;
  bool is_watching_ = false;
};

}  // namespace isthmus
