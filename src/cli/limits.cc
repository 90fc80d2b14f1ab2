// A limit of the system for memory, and one of its timers.
#include "cli/limits.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string>

#include "base/memory_size.h"
#include "cli/last_words.h"

namespace isthmus {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kReservesMemory = true;
#elif defined(__has_feature)
constexpr bool kReservesMemory = __has_feature(address_sanitizer);
#else
constexpr bool kReservesMemory = false;
#endif

std::string_view memory_hint;
std::uint64_t timeout = 0;
std::array<char, 32> timeout_text{};

void end_of_time(int) {
  end_with_words({"not done after ", timeout_text.data(), " seconds; --timeout gives more, 0 as many as it takes"});
}

}  // namespace

void add_limit_options(CLI::App& command, LimitOptions& options, const std::string& of) {
  command
      .add_option("--max-memory", options.max_memory,
                  "limit of the process's memory, such as 512M or 4G; default: none")
      ->transform(CLI::AsSizeValue(false));
  command.add_option("--timeout", options.timeout, fmt::format("time limit in seconds, {}; 0: none", of))
      ->check(CLI::Range(0, 100'000'000))
      ->capture_default_str();
}

std::uint64_t start_limits(const LimitOptions& options) {
  const std::uint64_t bytes = options.max_memory != 0 ? options.max_memory : bytes_of_memory();
  // A sanitizer reserves far more than it uses.
  if (!kReservesMemory) {
    struct rlimit limit {};
    if (::getrlimit(RLIMIT_DATA, &limit) == 0) {
      limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, bytes);
      ::setrlimit(RLIMIT_DATA, &limit);
    }
  }
  if (options.max_memory != 0) memory_hint = "; --max-memory raises the limit";
  timeout = options.timeout;
  const std::string text = fmt::format("{}", timeout);
  timeout_text[text.copy(timeout_text.data(), timeout_text.size() - 1)] = '\0';
  std::signal(SIGALRM, end_of_time);
  restart_timeout();
  return bytes;
}

std::string_view out_of_memory_hint() { return memory_hint; }

void restart_timeout() {
  const struct itimerval timer {
    .it_interval = {}, .it_value = {.tv_sec = static_cast<time_t>(timeout), .tv_usec = 0 }
  };
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace isthmus
