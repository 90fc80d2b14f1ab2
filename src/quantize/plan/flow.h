// The cheapest way to cut a network in two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace isthmus {

// Places joined by pipes with capacities. Places 0 and 1 are the source and the sink.
class FlowNetwork {
 public:
  static constexpr std::size_t kSource = 0;
  static constexpr std::size_t kSink = 1;
  static constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 60;

  explicit FlowNetwork(std::size_t places) : places_(places) {}

  std::size_t add_place() { return places_++; }
  // What may flow from one place to the other, and what may flow back.
  void add_pipe(std::size_t from, std::size_t to, std::uint64_t forth, std::uint64_t back = 0);

  // Whether each place is on the source's side of a cheapest cut. Of all such cuts one that has as many as possible of
  // the wanted places on that side, and apart from them and what must be with them as few as possible. A place that
  // pipes without a limit join to both ends is on the source's.
  std::vector<bool> source_side(const std::vector<std::size_t>& wanted) const;

 private:
  enum class Side : std::uint8_t { kOpen, kSource, kSink };
  struct Pipe {
    std::uint32_t from, to;
    std::uint64_t forth, back;
  };
  std::vector<Side> settled() const;

  std::size_t places_;
  std::vector<Pipe> pipes_;
};

}  // namespace isthmus
