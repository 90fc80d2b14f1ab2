// Pushing and relabelling, from either end: what can still reach the other end when nothing more can be moved is on
// that end's side of every cheapest cut.
#include "quantize/plan/flow.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

namespace isthmus {
namespace {

constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();

// Capacities come from sizes in files: sums of them stay within bounds.
std::uint64_t sum(std::uint64_t a, std::uint64_t b) { return std::min(a + b, FlowNetwork::kUnlimited); }

// What is left of a network when both ends are gone: places that have something to give to others and places that
// still take something.
class Transport {
 public:
  explicit Transport(std::size_t places) : surplus_(places, 0), demand_(places, 0), first_(places + 1, 0) {}

  void give(std::uint32_t place, std::uint64_t amount) { surplus_[place] = sum(surplus_[place], amount); }
  void take(std::uint32_t place, std::uint64_t amount) { demand_[place] = sum(demand_[place], amount); }
  void join(std::uint32_t a, std::uint32_t b, std::uint64_t forth, std::uint64_t back) {
    joints_.push_back({a, b, forth, back});
  }

  // Moves as much as possible.
  void solve() {
    build();
    for (std::uint32_t v = 0; v < surplus_.size(); ++v) settle(v);
    measure_distances();
    while (!waiting_.empty()) {
      const std::uint32_t place = waiting_.front();
      waiting_.pop_front();
      discharge(place);
      // Distances that were measured long ago send things astray.
      if (work_ > arcs_.size() + surplus_.size()) measure_distances();
    }
  }

  // By place, when all is moved: whether anything could still flow from there to a sink, or to one of
  // these.
  std::vector<bool> reaching(std::vector<std::uint32_t> others) {
    const std::vector<std::uint32_t> found = all_before(std::move(others));
    std::vector<bool> result(surplus_.size(), false);
    for (const std::uint32_t place : found) result[place] = true;
    return result;
  }

 private:
  struct Joint {
    std::uint32_t a, b;
    std::uint64_t forth, back;
  };
  struct Arc {
    std::uint32_t to;
    std::uint32_t reverse;
    std::uint64_t room;
  };

  void build() {
    for (const Joint& joint : joints_) {
      ++first_[joint.a + 1];
      ++first_[joint.b + 1];
    }
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    arcs_.resize(first_.back());
    next_.assign(first_.begin(), first_.end() - 1);
    for (const Joint& joint : joints_) {
      const std::uint32_t forth = next_[joint.a]++;
      const std::uint32_t back = next_[joint.b]++;
      arcs_[forth] = {joint.b, back, joint.forth};
      arcs_[back] = {joint.a, forth, joint.back};
    }
  }

  void settle(std::uint32_t place) {
    const std::uint64_t amount = std::min(surplus_[place], demand_[place]);
    surplus_[place] -= amount;
    demand_[place] -= amount;
  }

  // All from which something can flow to a sink or to one of these, the nearest first.
  std::vector<std::uint32_t> all_before(std::vector<std::uint32_t> ends) {
    distance_.assign(surplus_.size(), kFar);
    for (std::uint32_t v = 0; v < surplus_.size(); ++v) {
      if (demand_[v] > 0) ends.push_back(v);
    }
    for (const std::uint32_t end : ends) distance_[end] = 1;
    for (std::size_t head = 0; head < ends.size(); ++head) {
      const std::uint32_t at = ends[head];
      for (std::uint32_t i = first_[at]; i < first_[at + 1]; ++i) {
        const std::uint32_t from = arcs_[i].to;
        if (distance_[from] != kFar || arcs_[arcs_[i].reverse].room == 0) continue;
        distance_[from] = distance_[at] + 1;
        ends.push_back(from);
      }
    }
    return ends;
  }

  // Steps to the nearest place that takes something.
  void measure_distances() {
    work_ = 0;
    next_.assign(first_.begin(), first_.end() - 1);
    waiting_.clear();
    for (const std::uint32_t v : all_before({})) {
      if (surplus_[v] > 0) waiting_.push_back(v);
    }
  }

  void discharge(std::uint32_t place) {
    while (surplus_[place] > 0) {
      std::uint32_t& i = next_[place];
      if (i == first_[place + 1]) {
        if (!relabel(place)) return;
        continue;
      }
      ++work_;
      Arc& arc = arcs_[i];
      if (arc.room == 0 || distance_[place] != distance_[arc.to] + 1) {
        ++i;
        continue;
      }
      const std::uint64_t amount = std::min(surplus_[place], arc.room);
      arc.room -= amount;
      arcs_[arc.reverse].room = sum(arcs_[arc.reverse].room, amount);
      surplus_[place] -= amount;
      const bool was_waiting = surplus_[arc.to] > 0;
      surplus_[arc.to] = sum(surplus_[arc.to], amount);
      settle(arc.to);
      if (surplus_[arc.to] > 0 && !was_waiting) waiting_.push_back(arc.to);
    }
  }

  // False where no sink can be reached any more.
  bool relabel(std::uint32_t place) {
    std::uint32_t nearest = kFar;
    for (std::uint32_t i = first_[place]; i < first_[place + 1]; ++i) {
      if (arcs_[i].room > 0) nearest = std::min(nearest, distance_[arcs_[i].to]);
    }
    work_ += first_[place + 1] - first_[place];
    next_[place] = first_[place];
    distance_[place] = nearest >= surplus_.size() ? kFar : nearest + 1;
    return distance_[place] != kFar;
  }

  std::vector<Joint> joints_;
  std::vector<std::uint64_t> surplus_, demand_;  // by place
  std::vector<std::uint32_t> first_;             // by place: of its arcs
  std::vector<Arc> arcs_;
  std::vector<std::uint32_t> distance_;  // by place
  std::vector<std::uint32_t> next_;      // by place: the arc to try next
  std::deque<std::uint32_t> waiting_;    // places with excess flow and a reachable sink
  std::uint64_t work_ = 0;               // since distances were measured
};

}  // namespace

void FlowNetwork::add_pipe(std::size_t from, std::size_t to, std::uint64_t forth, std::uint64_t back) {
  pipes_.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to), forth, back});
}

// What pipes without limits join to an end is on its side.
std::vector<FlowNetwork::Side> FlowNetwork::settled() const {
  std::vector<std::uint32_t> first(places_ + 1, 0);
  for (const Pipe& pipe : pipes_) {
    if (pipe.forth < kUnlimited && pipe.back < kUnlimited) continue;
    ++first[pipe.from];
    ++first[pipe.to];
  }
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  std::vector<std::uint32_t> pipe_of(first.back());
  for (std::uint32_t i = 0; i < pipes_.size(); ++i) {
    if (pipes_[i].forth < kUnlimited && pipes_[i].back < kUnlimited) continue;
    pipe_of[--first[pipes_[i].from]] = i;
    pipe_of[--first[pipes_[i].to]] = i;
  }
  std::vector<Side> result(places_, Side::kOpen);
  const auto spread = [&](std::size_t end, Side side) {
    std::vector<std::size_t> queue{end};
    result[end] = side;
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const std::size_t at = queue[head];
      for (std::uint32_t i = first[at]; i < first[at + 1]; ++i) {
        const Pipe& pipe = pipes_[pipe_of[i]];
        const bool is_start = pipe.from == at;
        const std::size_t other = is_start ? pipe.to : pipe.from;
        const bool leaves_source = (is_start ? pipe.forth : pipe.back) >= kUnlimited;
        const bool enters_sink = (is_start ? pipe.back : pipe.forth) >= kUnlimited;
        if (!(side == Side::kSource ? leaves_source : enters_sink) || result[other] != Side::kOpen) continue;
        result[other] = side;
        queue.push_back(other);
      }
    }
  };
  result[kSink] = Side::kSink;
  spread(kSource, Side::kSource);
  spread(kSink, Side::kSink);
  return result;
}

std::vector<bool> FlowNetwork::source_side(const std::vector<std::size_t>& wanted) const {
  const std::vector<Side> side = settled();
  std::vector<std::uint32_t> number(places_, 0);
  std::uint32_t open = 0;
  for (std::size_t i = 0; i < places_; ++i) {
    if (side[i] == Side::kOpen) number[i] = open++;
  }
  Transport to_sink(open);
  Transport to_source(open);  // where everything flows backwards
  const auto end = [&](std::size_t from, std::size_t to, std::uint64_t capacity) {
    if (side[from] == Side::kSource && side[to] == Side::kOpen) {
      to_sink.give(number[to], capacity);
      to_source.take(number[to], capacity);
    } else if (side[from] == Side::kOpen && side[to] == Side::kSink) {
      to_sink.take(number[from], capacity);
      to_source.give(number[from], capacity);
    }
  };
  for (const Pipe& pipe : pipes_) {
    if (side[pipe.from] == Side::kOpen && side[pipe.to] == Side::kOpen) {
      to_sink.join(number[pipe.from], number[pipe.to], pipe.forth, pipe.back);
      to_source.join(number[pipe.to], number[pipe.from], pipe.forth, pipe.back);
    } else {
      end(pipe.from, pipe.to, pipe.forth);
      end(pipe.to, pipe.from, pipe.back);
    }
  }
  to_source.solve();
  to_sink.solve();
  const std::vector<bool> must_be_sink = to_sink.reaching({});
  std::vector<std::uint32_t> besides;
  for (const std::size_t place : wanted) {
    if (side[place] == Side::kOpen && !must_be_sink[number[place]]) besides.push_back(number[place]);
  }
  const std::vector<bool> is_source = to_source.reaching(besides);
  std::vector<bool> result(places_);
  for (std::size_t i = 0; i < places_; ++i) {
    result[i] = side[i] == Side::kSource || (side[i] == Side::kOpen && is_source[number[i]]);
  }
  return result;
}

}  // namespace isthmus
