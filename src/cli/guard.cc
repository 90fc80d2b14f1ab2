// Descriptors, handlers of signals, the end of exceptions.
#include "cli/guard.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <exception>
#include <new>

#include "base/leftovers.h"
#include "base/mapped_file.h"
#include "cli/last_words.h"
#include "cli/limits.h"

namespace isthmus {
namespace {

// A file that we open must not take the place of a closed one: what is printed would go there. These refuse what is
// asked of them, so that output does not get lost without a word.
void open_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    const int opened = ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != descriptor) ::close(opened);  // the system gives the lowest free one
  }
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  ::sigfillset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

void end_of_file_pages(int, siginfo_t* info, void*) {
  // Where the address is not in a file that we have mapped, the same access again ends the process as usual.
  if (const char* path = mapped_path_at(info->si_addr)) {
    end_with_words({"cannot read ", path, ": another process made it shorter, or its device failed; try it again"});
  }
}

void end_by_signal(int signal, siginfo_t*, void*) {
  remove_leftovers();
  ::raise(signal);  // delivered when the handler returns, to the default
}

[[noreturn]] void end_of_exception() noexcept {
  try {
    if (const std::exception_ptr current = std::current_exception()) std::rethrow_exception(current);
  } catch (const std::bad_alloc&) {
    end_with_words({"out of memory", out_of_memory_hint()});
  } catch (const std::exception& error) {
    end_with_words({"internal error: ", error.what()});
  } catch (...) {
  }
  end_with_words({"internal error"});
}

}  // namespace

void guard_process() {
  open_standard_descriptors();
  std::set_terminate(end_of_exception);
  std::signal(SIGXFSZ, SIG_IGN);  // `ulimit -f`: writing fails instead
  handle(SIGBUS, end_of_file_pages, SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) continue;  // as nohup wants it
    handle(signal, end_by_signal, SA_RESETHAND);
  }
}

}  // namespace isthmus
