// Sound files by libsndfile.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"

namespace isthmus {

// Amplitudes from -1 to 1, one channel behind the other.
struct Audio {
  int rate = 0;  // samples a second
  int channels = 0;
  std::int64_t frames = 0;
  std::vector<float> channel_data;  // [channels][frames]
};

// Whatever libsndfile reads of at most `most` frames; those behind them are not read.
Expected<Audio> read_audio(const std::string& path, std::int64_t max);

// The mean of all channels.
Audio mixed_to_one(const Audio& audio);

}  // namespace isthmus
