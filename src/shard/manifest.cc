// Joins parts, and finds what lacks between them.
#include "shard/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>

#include "base/process.h"
#include "base/untrusted_text.h"

namespace isthmus {
namespace {

std::string samples_text(SampleRange range) {
  return range.count() == 1 ? fmt::format("sample {}", range.begin)
                            : fmt::format("samples {} to {}", range.begin, range.end - 1);
}

Expected<void> demand_same_facts(const Manifest& a, const Manifest& b) {
  const auto value_in = [](const Manifest& manifest, const std::string& name) -> std::string {
    const auto found = std::ranges::find(manifest.facts, name, &Manifest::Fact::name);
    return found == manifest.facts.end() ? "none" : shown(found->value);
  };
  for (const Manifest* side : {&a, &b}) {
    for (const Manifest::Fact& fact : side->facts) {
      const std::string ours = value_in(a, fact.name);
      const std::string theirs = value_in(b, fact.name);
      if (ours == theirs) continue;
      return bad_input(fmt::format("these shards do not belong together: {} is {} in one and {} in the other",
                                   fact.name, ours, theirs));
    }
  }
  if (a.samples == b.samples && a.step == b.step) return {};
  return bad_input(
      fmt::format("these shards do not belong together: {} samples in one and {} in the other", a.samples, b.samples));
}

}  // namespace

Expected<void> Manifest::join(const Manifest& other) {
  TRY(demand_same_facts(*this, other));
  for (const Part& theirs : other.parts) {
    const SampleRange range = range_of(theirs);
    for (const Part& ours : parts) {
      const SampleRange known = range_of(ours);
      const SampleRange both{std::max(range.begin, known.begin), std::min(range.end, known.end)};
      if (both.begin >= both.end) {
        if (theirs.shard != ours.shard) continue;
        return bad_input(fmt::format("shard {} is in both", text_of(theirs.shard)));
      }
      const bool is_changed = theirs.shard == ours.shard && theirs.hash != ours.hash;
      return bad_input(fmt::format("{} are in both shard {} and shard {}{}", samples_text(both), text_of(ours.shard),
                                   text_of(theirs.shard),
                                   is_changed ? "; their content differs: the data changed in between" : ""));
    }
  }
  std::ranges::copy(other.parts, std::back_inserter(parts));
  std::ranges::sort(parts, {}, [&](const Part& part) { return std::pair(range_of(part).begin, part.shard); });
  command = std::min(command, other.command);
  return {};
}

std::uint64_t Manifest::known_samples() const {
  std::uint64_t count = 0;
  for (const Part& part : parts) count += range_of(part).count();
  return count;
}

std::vector<SampleRange> Manifest::missing() const {
  std::vector<SampleRange> result;
  std::uint64_t next = 0;
  for (const Part& part : parts) {
    const SampleRange range = range_of(part);
    if (range.begin > next) result.push_back({next, range.begin});
    next = std::max(next, range.end);
  }
  if (next < samples) result.push_back({next, samples});
  return result;
}

std::vector<Shard> Manifest::missing_shards() const {
  std::set<std::uint32_t> counts;
  for (const Part& part : parts) counts.insert(part.shard.count);
  std::vector<Shard> result;
  for (SampleRange gap : missing()) {
    while (gap.begin < gap.end) {
      std::optional<Shard> longest;
      for (const std::uint32_t count : counts) {
        // The first shard that ends behind the gap's begin.
        std::uint32_t low = 0;
        std::uint32_t high = count - 1;
        while (low < high) {
          const std::uint32_t middle = low + (high - low) / 2;
          if (isthmus::range_of({middle, count}, samples, step).end > gap.begin) {
            high = middle;
          } else {
            low = middle + 1;
          }
        }
        const SampleRange range = isthmus::range_of({low, count}, samples, step);
        if (range.begin != gap.begin || range.end > gap.end) continue;
        if (!longest || range.end > isthmus::range_of(*longest, samples, step).end) longest = Shard{low, count};
      }
      if (!longest) break;
      result.push_back(*longest);
      gap.begin = isthmus::range_of(*longest, samples, step).end;
    }
  }
  return result;
}

std::string Manifest::missing_text() const {
  constexpr std::size_t kMaxNamed = 8;
  const std::vector<SampleRange> gaps = missing();
  std::string text = fmt::format("{} of {} samples are missing: ", samples - known_samples(), samples);
  for (std::size_t i = 0; i < gaps.size() && i < kMaxNamed; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", samples_text(gaps[i]));
  }
  if (gaps.size() > kMaxNamed) text += fmt::format(" and {} other ranges", gaps.size() - kMaxNamed);
  return text;
}

std::string Manifest::command_of(Shard shard) const {
  std::string text;
  for (const std::string& word : command) text += shell_word(word) + " ";
  return fmt::format("{}--shard {}", text, text_of(shard));
}

}  // namespace isthmus
