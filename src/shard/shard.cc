// Splitting by whole numbers: every machine gets the same ranges.
#include "shard/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/untrusted_text.h"

namespace isthmus {
namespace {

constexpr std::uint32_t kMaxShards = 1'000'000;

bool read_number(std::string_view text, std::uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Expected<Shard> read_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  Shard shard;
  if (slash == std::string_view::npos || !read_number(text.substr(0, slash), shard.index) ||
      !read_number(text.substr(slash + 1), shard.count)) {
    return bad_input(fmt::format("{} is not a shard: expected i/n, as 0/8 for the first of eight", shown(text)));
  }
  if (shard.count == 0 || shard.count > kMaxShards) {
    return bad_input(fmt::format("{}: samples are split into 1 to {} shards", shown(text), kMaxShards));
  }
  if (shard.index >= shard.count) {
    return bad_input(fmt::format("{}: shards are counted from 0, so the last of {} is {}/{}", shown(text), shard.count,
                                 shard.count - 1, shard.count));
  }
  return shard;
}

std::string text_of(Shard shard) { return fmt::format("{}/{}", shard.index, shard.count); }

SampleRange range_of(Shard shard, std::uint64_t samples, std::uint64_t step) {
  const std::uint64_t steps = samples / step + (samples % step == 0 ? 0 : 1);
  const std::uint64_t each = steps / shard.count;
  const std::uint64_t rest = steps % shard.count;
  const auto first = [&](std::uint64_t index) {
    return std::min(samples, (index * each + index * rest / shard.count) * step);
  };
  return {first(shard.index), first(std::uint64_t{shard.index} + 1)};
}

std::string shard_file(const std::string& path, Shard shard) {
  std::filesystem::path file(path);
  const std::string extension = file.extension().string();
  file.replace_extension(fmt::format("{}-of-{}{}", shard.index, shard.count, extension));
  return file.string();
}

}  // namespace isthmus
