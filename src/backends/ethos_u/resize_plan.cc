// Ratios in lowest terms, doubled so that halves of a pixel are whole numbers.
#include "backends/ethos_u/resize_plan.h"

#include <numeric>

namespace isthmus::ethos_u {

std::optional<ResizePlan> resize_plan(const ResizeAttrs& attrs, const Ints& size) {
  if (attrs.mode == ResizeMode::kCubic) return std::nullopt;
  ResizePlan plan;
  plan.is_bilinear = attrs.mode == ResizeMode::kLinear;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!attrs.size[i].is_fixed()) return std::nullopt;
    const std::int64_t in = size[i];
    const std::int64_t out = attrs.size[i].value();
    const double ratio = static_cast<double>(out) / static_cast<double>(in);
    const bool joins_corners = plan.is_bilinear && attrs.align_corners;
    if (!joins_corners && !attrs.scales.empty() && attrs.scales[i] != ratio) return std::nullopt;
    std::int64_t n = joins_corners && out > 1 ? out - 1 : out;
    std::int64_t d = joins_corners && out > 1 ? in - 1 : in;
    // One pixel for all: it comes as often as there are places.
    if (d == 0) n = d = 1;
    const std::int64_t common = std::gcd(n, d);
    n = 2 * (n / common);
    d = 2 * (d / common);
    // TOSA takes the nearest pixel and PyTorch's oldest mode the one before: half a pixel further up. By whole factors
    // both are the pixel whose middle is nearest, the form that compilers know.
    const bool takes_before = attrs.mode == ResizeMode::kNearest && d != 2;
    const std::int64_t offset = joins_corners ? 0 : takes_before ? -n / 2 : d / 2 - n / 2;
    plan.scale.insert(plan.scale.end(), {n, d});
    plan.offset.push_back(offset);
    plan.border.push_back(d * (out - 1) - n * (in - 1) + offset);
  }
  return plan;
}

}  // namespace isthmus::ethos_u
