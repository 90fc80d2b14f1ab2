// What a process would leave behind if a signal or an error ended it now: temporary files and folders, and programs
// that it waits for.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string_view>

namespace isthmus {

// Noted as long as it lives. Where too many are noted at once, or a path is too long, it is not.
class Leftover {
 public:
  explicit Leftover(std::string_view path);  // a file, or a folder with all in it
  explicit Leftover(pid_t group);            // of processes
  Leftover(const Leftover&) = delete;
  Leftover& operator=(const Leftover&) = delete;
  Leftover(Leftover&& other) noexcept;
  Leftover& operator=(Leftover&&) = delete;
  ~Leftover();

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t slot_ = kNone;
};

// Removes and kills all of it; safe in handlers of signals. The process must end then.
void remove_leftovers();

}  // namespace isthmus
