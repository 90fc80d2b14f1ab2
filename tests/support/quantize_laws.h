// The laws of quantizing, each for the random graph of a seed: fast tests try hundreds of them, slow ones thousands.
#pragma once

#include <cstddef>
#include <string>

#include "support/random_seed.h"

namespace isthmus::test {

// Which law the plan of such a graph breaks, with the graph; empty where it keeps all of them: the order of nodes and
// inputs changes nothing, names change names, planning twice is planning once, every tie is shared or cut, no cut is
// for nothing, and no reader outside of a group suffers from it.
std::string broken_plan_law(RandomSeed seed);

// The same of the quantized graph: it is proven, prints and parses, shares where it must, runs in integers, and
// computes nearly what the model computes.
std::string broken_compute_law(RandomSeed seed);

// Parameters that are written into the model, as PyTorch writes them, are those that the next plan has, without data.
std::string broken_pin_law(RandomSeed seed);

// A model of which only some values have such parameters is quantized for every device, without data, where it is said
// what lacks them, and with data.
std::string broken_partial_pin_law(RandomSeed seed);

struct Decided {
  std::size_t cuts = 0, kept_ties = 0, quantized_nodes = 0, nodes_in_float = 0;
};
// Adds what the plan of such a graph decides.
void count_decisions(unsigned seed, Decided& decided);

}  // namespace isthmus::test
