// Dinic's algorithm, without recursion: networks are as long as models are deep.
#include "quantize/flow.h"

#include <algorithm>
#include <limits>

namespace isthmus {
namespace {

constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();

}  // namespace

void FlowNetwork::add_pipe(std::size_t from, std::size_t to, std::uint64_t capacity) {
  pipes_of_[from].push_back(pipes_.size());
  pipes_.push_back({to, capacity});
  pipes_of_[to].push_back(pipes_.size());
  pipes_.push_back({from, 0});
}

bool FlowNetwork::measure_distances() {
  distance_.assign(pipes_of_.size(), kFar);
  distance_[kSource] = 0;
  std::vector<std::size_t> queue{kSource};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (const std::size_t i : pipes_of_[queue[head]]) {
      if (pipes_[i].room == 0 || distance_[pipes_[i].to] != kFar) continue;
      distance_[pipes_[i].to] = distance_[queue[head]] + 1;
      queue.push_back(pipes_[i].to);
    }
  }
  return distance_[kSink] != kFar;
}

// One way from the source to the sink along increasing distances; 0 where none is left.
std::uint64_t FlowNetwork::push() {
  std::vector<std::size_t> path;
  std::size_t at = kSource;
  while (at != kSink) {
    bool has_advanced = false;
    for (std::size_t& k = next_[at]; k < pipes_of_[at].size(); ++k) {
      const Pipe& pipe = pipes_[pipes_of_[at][k]];
      if (pipe.room == 0 || distance_[pipe.to] != distance_[at] + 1) continue;
      path.push_back(pipes_of_[at][k]);
      at = pipe.to;
      has_advanced = true;
      break;
    }
    if (has_advanced) continue;
    if (path.empty()) return 0;
    distance_[at] = kFar;  // a dead end
    at = pipes_[path.back() ^ 1].to;
    path.pop_back();
  }
  std::uint64_t amount = kUnlimited;
  for (const std::size_t i : path) amount = std::min(amount, pipes_[i].room);
  for (const std::size_t i : path) {
    pipes_[i].room -= amount;
    pipes_[i ^ 1].room += amount;
  }
  return amount;
}

std::vector<bool> FlowNetwork::source_side() {
  while (measure_distances()) {
    next_.assign(pipes_of_.size(), 0);
    while (push() > 0) {
    }
  }
  std::vector<bool> result(pipes_of_.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = distance_[i] != kFar;
  return result;
}

}  // namespace isthmus
