// What computes an operator: prepared once, run many times, also by several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/expected.h"
#include "targets/tosa/site.h"

struct pthreadpool;

namespace isthmus::tosa {

// One computation of a kernel: where its operands are in this run.
struct Call {
  const std::byte* const* inputs = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;    // as much as the kernel asked for, aligned for vectors
  pthreadpool* threads = nullptr;  // the caller's; null: the calling thread alone

  template <class Number>
  const Number* input(std::size_t index) const {
    return reinterpret_cast<const Number*>(inputs[index]);
  }
  template <class Number>
  Number* result() const {
    return reinterpret_cast<Number*>(output);
  }
};

struct Kernel {
  std::function<Expected<void>(const Call&)> run;
  std::uint64_t scratch_bytes = 0;
};

// What preparing may use.
struct Resources {
  std::uint64_t bytes_left = 0;
  std::size_t parts = 1;  // into which the work of a call is split at most

  // Before memory is taken that a kernel keeps.
  Expected<void> take(std::uint64_t bytes);
};

using SharedSite = std::shared_ptr<const Site>;
using Prepare = Expected<Kernel> (*)(const SharedSite& site, Resources& resources);

}  // namespace isthmus::tosa
