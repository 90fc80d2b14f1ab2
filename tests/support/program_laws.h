// What XNNPACK computes is what the integer interpreter says, whatever the graph: a law for tests of few and of many
// seeds.
#pragma once

#include <string>

#include "support/random_seed.h"

namespace isthmus::test {

// A random graph quantized, compiled and run: the empty string where every quantized value of every delegate has the
// bits of the integer interpreter, and the program's results have them too where nothing stays in float; else what
// differs.
std::string broken_program_law(RandomSeed seed);

}  // namespace isthmus::test
