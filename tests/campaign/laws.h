// The laws that a campaign tries on random graphs, in a table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "support/random_seed.h"

namespace isthmus::test {

struct CampaignLaw {
  std::string_view name;
  std::string_view says;
  std::string (*broken)(RandomSeed seed);  // empty where the graph of the seed keeps it
};
std::span<const CampaignLaw> campaign_laws();

// The least number of nodes with which the graph of the seed still breaks the law.
RandomSeed shrunk(const CampaignLaw& law, RandomSeed seed);

}  // namespace isthmus::test
