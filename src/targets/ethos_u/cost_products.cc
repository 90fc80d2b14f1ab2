// Blocks of results times the steps of their sums, or the time that results take to be written, whichever is longer.
#include "targets/ethos_u/cost_products.h"

#include <algorithm>
#include <cmath>

namespace isthmus::ethos_u {
namespace {

// Blocks along the channels, and beside each other.
struct Units {
  double deep = 0;
  double across = 0;
};
Units units_of(const Unit& unit, const std::vector<std::int32_t>& made) {
  const auto in = [](std::int32_t size, std::int64_t of) { return ceiling(size, static_cast<double>(of)); };
  return {in(made[3], unit.depth), 1.0 * made[0] * in(made[1], unit.height) * in(made[2], unit.width)};
}

// Windows are computed in parts of at most 8 by 8.
template <class StepsOf>
double steps(const Product& product, const StepsOf& steps_of) {
  constexpr std::int32_t kPart = 8;
  double sum = 0;
  for (std::int32_t y = 0; y < product.kernel_y; y += kPart) {
    for (std::int32_t x = 0; x < product.kernel_x; x += kPart) {
      sum += steps_of(1.0 * std::min(product.kernel_y - y, kPart) * std::min(product.kernel_x - x, kPart));
    }
  }
  return sum;
}

// Whether taps of the window are read side by side, a few channels of each, or one after the other, all channels of
// each: whatever wastes less. U85 reads five at a time or two, U55 four, or two of 16 bits.
bool reads_taps_together(const Machine& machine, const Product& product) {
  const double taps = 1.0 * product.kernel_y * product.kernel_x;
  const auto share = [](double of, double step) { return of / (ceiling(of, step) * step); };
  if (machine.is_u85) {
    const double rest = std::fmod(taps, 5);
    const double rounded = taps - rest + std::max(rest, 2.0);
    return share(product.depth, 16) * taps / rounded >= share(product.depth, 64);
  }
  if (product.depth <= 8) return true;
  const bool is_wide = product.bits > 8;
  return share(product.depth, 8) * share(taps, is_wide ? 2 : 4) >= share(product.depth, is_wide ? 16 : 32);
}

double multiplied(const Machine& machine, const Product& product, const Unit& unit) {
  const Units units = units_of(unit, product.made);
  const double width = product.bits / 8;
  // Weights are decoded no faster than this.
  const double decoded = 4 * static_cast<double>(unit.depth) / (machine.is_u85 ? machine.cores : 1);
  const auto taps_of_4 = [](double taps) { return ceiling(taps, 4); };
  if (product.is_depthwise) {
    return std::max(decoded, 4 * units.across * width) * steps(product, taps_of_4) * units.deep;
  }
  if (reads_taps_together(machine, product)) {
    const auto taken = [&](double taps) { return ceiling(taps, width > 1 ? 2 : 4); };
    const double depth = ceiling(std::min(product.depth, 16.0), 8) * ceiling(product.depth, 16);
    return std::max(decoded, 4 * units.across) * steps(product, taken) * units.deep * depth;
  }
  const auto all = [](double taps) { return taps; };
  if (!machine.is_u85) {
    const double blocks = ceiling(product.depth, width > 1 ? 16 : 32);
    return std::max(decoded, 4 * units.across) * steps(product, all) * units.deep * blocks;
  }
  constexpr double kBlock = 64;  // of channels
  const double eights = std::floor(std::min(product.depth, kBlock) / 8);
  return std::max(decoded, eights * units.across) * steps(product, all) * units.deep * width *
         ceiling(product.depth, kBlock);
}

}  // namespace

double cycles_of(const Machine& machine, const Product& product) {
  constexpr double kBegin = 100;
  double computed = 0;
  if (product.is_depthwise) {
    computed = multiplied(machine, product, machine.unit_by_channel);
  } else {
    const auto [first, second] = machine.units;
    computed = std::min(multiplied(machine, product, first), multiplied(machine, product, second));
  }
  computed /= machine.is_u85 ? 1 : machine.cores;
  const auto& made = product.made;
  const double each = product.bits > 8 ? machine.made_wide : product.is_clamped ? machine.made_clamped : machine.made;
  return kBegin + std::max(computed, each * made[0] * made[1] * made[2] * made[3]);
}

}  // namespace isthmus::ethos_u
