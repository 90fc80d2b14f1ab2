// What a device behind TOSA computes is what the integer interpreter says, whatever the graph: a law for tests of few
// and of many seeds.
#pragma once

#include <string>

#include "support/ethos_u_lowered.h"
#include "support/random_seed.h"

namespace isthmus::test {

// A random graph through prepare, quantize and lower for each kind of device, in int8 values, and of 16 where the
// seed is a multiple of three: the empty string where the TOSA interpreter computes the bits of the integer
// interpreter, else what differs. Adds the operators of the TOSA graphs to the counts.
std::string broken_device_law(RandomSeed seed, OperatorCounts& counts);

// The names of operators that forms use and the counts lack.
std::string operators_not_seen(const OperatorCounts& counts);

}  // namespace isthmus::test
