// Squared differences along rows.
#include "calibrate/interleaving.h"

namespace isthmus {
namespace {

constexpr std::int64_t kPlanesRank = 4;
// Of white noise the ratio is 1, of photographs in planes 1.5 to 3.
constexpr double kClearlyNearer = 0.75;

}  // namespace

void Interleaving::add(const Tensor& image) {
  if (image.dtype() != DType::kF32 || image.rank() != kPlanesRank) return;
  const auto channels = static_cast<std::size_t>(image.size(1));
  const auto width = static_cast<std::size_t>(image.size(3));
  if (channels < 2 || width <= channels) return;
  const auto numbers = image.data<float>();
  for (std::size_t row = 0; row + width <= numbers.size(); row += width) {
    // As many pairs of both kinds, from the same places.
    float next = 0;
    float channel = 0;
    for (std::size_t i = row; i + channels < row + width; ++i) {
      const float to_next = numbers[i + 1] - numbers[i];
      const float to_channel = numbers[i + channels] - numbers[i];
      next += to_next * to_next;
      channel += to_channel * to_channel;
    }
    next_ += static_cast<double>(next);
    channel_ += static_cast<double>(channel);
  }
}

bool Interleaving::is_interleaved() const { return channel_ < kClearlyNearer * next_; }

}  // namespace isthmus
