// The cheapest way to cut a network in two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace isthmus {

// Places joined by pipes with capacities; Dinic's algorithm. Places 0 and 1 are the source and the sink.
class FlowNetwork {
 public:
  static constexpr std::size_t kSource = 0;
  static constexpr std::size_t kSink = 1;
  static constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 60;

  explicit FlowNetwork(std::size_t places) : pipes_of_(places) {}

  std::size_t add_place() {
    pipes_of_.emplace_back();
    return pipes_of_.size() - 1;
  }
  void add_pipe(std::size_t from, std::size_t to, std::uint64_t capacity);

  // Whether each place is on the source's side of a cheapest cut; of all such cuts the one with the smallest side.
  std::vector<bool> source_side();

 private:
  struct Pipe {
    std::size_t to;
    std::uint64_t room;
  };
  bool measure_distances();
  std::uint64_t push();

  std::vector<Pipe> pipes_;  // each followed by its reverse
  std::vector<std::vector<std::size_t>> pipes_of_;
  std::vector<std::uint32_t> distance_;
  std::vector<std::size_t> next_;
};

}  // namespace isthmus
