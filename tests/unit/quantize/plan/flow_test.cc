// Cheapest cuts of small random networks, against all cuts there are.
#include "quantize/plan/flow.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <tuple>
#include <vector>

namespace isthmus::flow_test {
namespace {

struct Pipe {
  std::size_t from, to;
  std::uint64_t forth, back;
};

std::uint64_t cost_of(const std::vector<Pipe>& pipes, std::uint32_t sources) {
  std::uint64_t cost = 0;
  const auto is_source = [&](std::size_t place) { return (sources >> place & 1U) != 0; };
  for (const Pipe& pipe : pipes) {
    if (is_source(pipe.from) && !is_source(pipe.to)) cost += pipe.forth;
    if (!is_source(pipe.from) && is_source(pipe.to)) cost += pipe.back;
  }
  return cost;
}

// The cheapest cut with the most wanted places, then the fewest places, among all of them.
std::uint32_t best_cut(const std::vector<Pipe>& pipes, std::size_t places, std::uint32_t wanted) {
  std::uint32_t best = 1;
  const auto rank = [&](std::uint32_t sources) {
    return std::tuple(cost_of(pipes, sources), -std::popcount(sources & wanted), std::popcount(sources));
  };
  for (std::uint32_t sources = 1; sources < (1U << places); sources += 2) {
    const bool has_sink = (sources >> FlowNetwork::kSink & 1U) != 0;
    if (!has_sink && rank(sources) < rank(best)) best = sources;
  }
  return best;
}

TEST(Flow, CheapestCutsOfRandomNetworks) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t places = 3 + random() % 8;
    FlowNetwork network(places);
    std::vector<Pipe> pipes;
    const std::size_t count = random() % (3 * places);
    const std::uint64_t largest = round % 2 == 0 ? 3 : 1000;
    for (std::size_t i = 0; i < count; ++i) {
      const Pipe pipe{random() % places, random() % places, random() % largest,
                      random() % 2 == 0 ? 0 : random() % largest};
      pipes.push_back(pipe);
      network.add_pipe(pipe.from, pipe.to, pipe.forth, pipe.back);
    }
    // Ends and ties that no cut goes through: each place gets one at most, so that none is asked to be on both sides.
    for (std::size_t place = 2; place + 1 < places; place += 2) {
      const std::size_t end = random() % 4;
      Pipe pipe{place, place + 1, FlowNetwork::kUnlimited, random() % 2 == 0 ? 0 : FlowNetwork::kUnlimited};
      if (end == 0) pipe = {FlowNetwork::kSource, place, FlowNetwork::kUnlimited, 0};
      if (end == 1) pipe = {place, FlowNetwork::kSink, FlowNetwork::kUnlimited, 0};
      if (end == 2) continue;
      pipes.push_back(pipe);
      network.add_pipe(pipe.from, pipe.to, pipe.forth, pipe.back);
    }
    std::uint32_t wanted = 0;
    std::vector<std::size_t> list;
    for (std::size_t place = 2; place < places; ++place) {
      if (random() % 3 != 0) continue;
      wanted |= 1U << place;
      list.push_back(place);
    }
    const std::uint32_t expected = best_cut(pipes, places, wanted);
    const std::vector<bool> found = network.source_side(list);
    for (std::size_t place = 0; place < places; ++place) {
      ASSERT_EQ(found[place], (expected >> place & 1U) != 0) << "round " << round << ", place " << place;
    }
  }
}

}  // namespace
}  // namespace isthmus::flow_test
