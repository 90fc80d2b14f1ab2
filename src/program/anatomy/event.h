// The steps of a run that make values.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace isthmus {
class Tensor;
}

namespace isthmus::anatomy {

// Which step of a run makes a value: an instruction of the program, and inside of a delegate a value of its graph, of a
// call on the host one of its results.
struct Event {
  std::size_t chain = 0;
  std::size_t instruction = 0;
  std::uint32_t value = 0;
  auto operator<=>(const Event&) const = default;
};

// Called with a value as soon as it is made, in the order of memory. The tensor must not be kept.
using Show = std::function<void(const Event& event, const Tensor& elements)>;

}  // namespace isthmus::anatomy
