#include "media/audio.h"

#include <fmt/format.h>
#include <sndfile.h>

#include <algorithm>
#include <memory>

namespace isthmus {
namespace {

// Of one file, all channels together; a header can claim anything.
constexpr std::int64_t kMaxNumbers = std::int64_t{1} << 28;
constexpr sf_count_t kFramesAtOnce = 4096;

}  // namespace

Expected<Audio> read_audio(const std::string& path, std::int64_t max) {
  SF_INFO info{};
  const auto close = [](SNDFILE* file) { sf_close(file); };
  const std::unique_ptr<SNDFILE, decltype(close)> file(sf_open(path.c_str(), SFM_READ, &info), close);
  if (file == nullptr) return bad_input(fmt::format("not a supported sound file: {}", sf_strerror(nullptr)));
  if (info.channels < 1 || info.frames < 1) return bad_input("a sound file without samples");
  const std::int64_t frames = std::min<std::int64_t>(info.frames, max);
  if (frames > kMaxNumbers / info.channels) {
    return bad_input(
        fmt::format("{} samples of {} channels: at most {} values are supported", frames, info.channels, kMaxNumbers));
  }
  Audio audio{info.samplerate, info.channels, 0, {}};
  std::vector<float> block(static_cast<std::size_t>(kFramesAtOnce * info.channels));
  std::vector<std::vector<float>> channels(static_cast<std::size_t>(info.channels));
  while (audio.frames < frames) {
    const sf_count_t got = sf_readf_float(file.get(), block.data(), std::min(kFramesAtOnce, frames - audio.frames));
    if (got <= 0) return bad_input(fmt::format("the file ends after {} of {} samples", audio.frames, frames));
    for (std::size_t i = 0; i < static_cast<std::size_t>(got) * channels.size(); ++i) {
      channels[i % channels.size()].push_back(block[i]);
    }
    audio.frames += got;
  }
  for (const std::vector<float>& channel : channels) {
    audio.channel_data.insert(audio.channel_data.end(), channel.begin(), channel.end());
  }
  return audio;
}

Audio mixed_to_one(const Audio& audio) {
  Audio result{audio.rate, 1, audio.frames, {}};
  const auto frames = static_cast<std::size_t>(audio.frames);
  for (std::size_t i = 0; i < frames; ++i) {
    float sum = 0;
    for (std::size_t channel = 0; channel < static_cast<std::size_t>(audio.channels); ++channel) {
      sum += audio.channel_data[channel * frames + i];
    }
    result.channel_data.push_back(sum / static_cast<float>(audio.channels));
  }
  return result;
}

}  // namespace isthmus
