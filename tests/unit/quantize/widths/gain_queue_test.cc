// The queue takes what looking at every candidate in every step would.
#include "quantize/widths/gain_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/portable_math.h"
#include "quantize/widths/memory_needed.h"
#include "support/quantized_graphs.h"

namespace isthmus::gain_queue_test {
namespace {

constexpr double kEnough = 0x1p-20;

struct Offer {
  double cost = 0;
  GainQueue::Powers less;
  bool is_open = true;
};

// By its definition.
std::optional<std::uint32_t> best_of(const std::vector<Offer>& offers, const GainQueue::Powers& noise, double min_rate,
                                     double left) {
  std::optional<std::pair<long, std::uint32_t>> best;
  for (std::uint32_t i = 0; i < offers.size(); ++i) {
    if (!offers[i].is_open || offers[i].cost > left) continue;
    double gain = 0;
    for (std::size_t o = 0; o < noise.size(); ++o) {
      gain += 10 * portable::log10(std::max(noise[o], kEnough) / std::max(noise[o] - offers[i].less[o], kEnough));
    }
    if (gain <= min_rate * offers[i].cost) continue;
    const std::pair key(-std::lround(16 * portable::log2(gain / std::max(offers[i].cost, 1.0))), i);
    if (!best || key < *best) best = key;
  }
  return best ? std::optional(best->second) : std::nullopt;
}

TEST(GainQueue, TakesWhatIsBestInEveryStep) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const auto number = [&](double low, double high) {
      return portable::exp2(low + (high - low) * static_cast<double>(random() % 4096) / 4096);
    };
    const std::size_t outputs = 1 + seed % 3;
    GainQueue::Powers noise(outputs, 0x1p-22);
    std::vector<Offer> offers(200);
    for (Offer& offer : offers) {
      offer.cost = number(0, 8);
      for (std::size_t o = 0; o < outputs; ++o) {
        offer.less.push_back(number(-24, -8) * (random() % 8 == 0 ? -0.01 : 1));
        noise[o] += std::abs(offer.less.back());
      }
    }
    const double min_rate = 1e-4;
    GainQueue queue(noise, min_rate, kEnough);
    const auto set = [&](std::uint32_t i) { queue.set(i, offers[i].cost, offers[i].less, {false, 0, i}); };
    for (std::uint32_t i = 0; i < offers.size(); ++i) set(i);
    double left = 4000;
    std::size_t taken = 0;
    while (true) {
      const auto wanted = best_of(offers, noise, min_rate, left);
      ASSERT_EQ(queue.best(left), wanted) << seed << " after " << taken;
      if (!wanted) break;
      offers[*wanted].is_open = false;
      if (random() % 8 == 0) {
        queue.drop(*wanted);
        continue;
      }
      ++taken;
      EXPECT_EQ(queue.cost_of(*wanted), offers[*wanted].cost);
      left -= offers[*wanted].cost;
      for (std::size_t o = 0; o < outputs; ++o) noise[o] -= offers[*wanted].less[o];
      queue.take(*wanted);
      // Others that it makes cheaper.
      const auto other = static_cast<std::uint32_t>(random() % offers.size());
      if (!offers[other].is_open) continue;
      offers[other].cost /= 2;
      set(other);
    }
    EXPECT_GT(taken, 10u);
  }
}

TEST(MemoryNeeded, IsTheMaxOverAllDepths) {
  const Graph graph = test::graph_of(R"(graph
  input %a : f32[4]
  %b = exp(%a) : f32[4]
  %c = add(%b, %a) : f32[4]
  %d = exp(%c) : f32[4]
  return %d
)");
  MemoryNeeded memory(graph);
  for (std::uint32_t v = 0; v < 4; ++v) memory.add(v, 1 << v);
  EXPECT_EQ(memory.max(), 12);  // %c and %d
  memory.add(0, 8);             // beside %b and %c
  EXPECT_EQ(memory.max(), 9 + 2 + 4);
  memory.add_while_made(3, 16);
  EXPECT_EQ(memory.max(), 12 + 16);
  memory.add_while_made(3, -16);
  memory.add(0, -8);
  EXPECT_EQ(memory.max(), 12);
}

}  // namespace
}  // namespace isthmus::gain_queue_test
