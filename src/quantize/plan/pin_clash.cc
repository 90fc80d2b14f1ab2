#include "quantize/plan/pin_clash.h"

#include <fmt/format.h>

#include "ir/literals.h"

namespace isthmus {
namespace {

std::string pin_text(const Graph& graph, const Pins& pins, ValueId pinned) {
  const Quant& quant = pins.at(pinned).quant;
  return fmt::format("%{} scale {} zero point {}", graph[pinned].name, float_text(quant.scale()), quant.zero_point);
}

}  // namespace

std::optional<PinClash> pin_clash(const Pins& pins, const PinSide& a, const PinSide& b) {
  if (!a.pin && !b.pin) return std::nullopt;
  if (a.pin && b.pin) {
    if (pins.at(*a.pin) == pins.at(*b.pin)) return std::nullopt;
    return PinClash{*a.pin, b.pin, {}};
  }
  const ValueId pinned = a.pin ? *a.pin : *b.pin;
  const Range wanted = a.pin ? b.range : a.range;
  const Range held = range_of(pins.at(pinned));
  const auto step = static_cast<double>(pins.at(pinned).quant.scale());
  if (wanted.min >= held.min - step && wanted.max <= held.max + step) return std::nullopt;
  return PinClash{pinned, std::nullopt, wanted};
}

std::string described(const PinClash& clash, const Graph& graph, const Pins& pins) {
  const std::string pin = pin_text(graph, pins, clash.pin);
  if (clash.other) return fmt::format("the archive gives {} and {}", pin, pin_text(graph, pins, *clash.other));
  const Range held = range_of(pins.at(clash.pin));
  return fmt::format("the archive gives {}, which ends at [{:.4g}, {:.4g}]; others need [{:.4g}, {:.4g}]", pin,
                     held.min, held.max, clash.wanted.min, clash.wanted.max);
}

}  // namespace isthmus
