// campaign_graphs LAW FIRST COUNT SECONDS: tries a law on the random graphs of COUNT seeds from FIRST on, for at most
// SECONDS. campaign_graphs LAW SEED NODES: one graph, with what it breaks. Without a law it lists them all.
//
// Prints "seed N" before each of them, "broken N NODES: WHY" for what it finds, shrunk, and at the end
// "done NEXT". What ends the process or takes too long is found by the seed that was printed last.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "campaign/laws.h"

namespace {

using isthmus::test::CampaignLaw;
using isthmus::test::RandomSeed;
using Clock = std::chrono::steady_clock;

constexpr unsigned kSecondsForOne = 300;

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

bool read_number(const char* text, unsigned& number) {
  const char* end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, number);
  return read.ec == std::errc() && read.ptr == end;
}

int try_many(const CampaignLaw& law, unsigned first, unsigned count, unsigned seconds) {
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  unsigned next = first;
  for (; next < first + count && Clock::now() < end; ++next) {
    say(fmt::format("seed {}", next));
    ::alarm(kSecondsForOne);
    if (law.broken(next).empty()) continue;
    const RandomSeed small = isthmus::test::shrunk(law, next);
    std::string why = law.broken(small);
    say(fmt::format("broken {} {}: {}", next, std::min<std::size_t>(small.max_nodes, 9999),
                    why.substr(0, why.find('\n'))));
  }
  say(fmt::format("done {}", next));
  return 0;
}

int try_one(const CampaignLaw& law, unsigned seed, unsigned nodes) {
  const std::string why = law.broken({seed, nodes});
  say(why.empty() ? "keeps the law" : why);
  return why.empty() ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    for (const CampaignLaw& law : isthmus::test::campaign_laws()) say(fmt::format("{}\t{}", law.name, law.says));
    return 0;
  }
  const auto laws = isthmus::test::campaign_laws();
  const auto law = std::ranges::find(laws, std::string_view(words[1]), &CampaignLaw::name);
  unsigned numbers[3] = {};
  bool is_understood = law != laws.end() && (count == 4 || count == 5);
  for (int i = 2; is_understood && i < count; ++i) is_understood = read_number(words[i], numbers[i - 2]);
  if (!is_understood) {
    std::fputs("usage: campaign_graphs [LAW SEED NODES | LAW FIRST COUNT SECONDS]\n", stderr);
    return 2;
  }
  return count == 4 ? try_one(*law, numbers[0], numbers[1]) : try_many(*law, numbers[0], numbers[1], numbers[2]);
}
