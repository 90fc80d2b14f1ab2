// How images and sound become inputs of a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace isthmus {

struct PixelSize {
  int height = 0;
  int width = 0;
};

// The order of an image's axes in the input of the model; by default the one that the input's shape allows.
enum class ImageLayout : std::uint8_t { kByShape, kNchw, kNhwc };

// Steps in the order in which they are taken; each can be left out.
struct MediaOptions {
  std::optional<int> shorter_side = {};  // resize to it, the other side in proportion
  std::optional<PixelSize> resize = {};  // or to this very size
  std::optional<PixelSize> crop = {};    // the middle
  double white = 1;                      // the number that a pixel of 255 becomes, before `mean` and `stddev`
  std::vector<float> mean = {};          // one number, or one for each channel
  std::vector<float> stddev = {};
  ImageLayout layout = ImageLayout::kByShape;
  std::optional<int> sample_rate = {};  // that sound files must have

  bool is_default() const {
    return !shorter_side && !resize && !crop && white == 1 && mean.empty() && stddev.empty() &&
           layout == ImageLayout::kByShape && !sample_rate;
  }
  // One line in the words of the command line, empty for the default.
  std::string text() const;
};

}  // namespace isthmus
