// The fast TOSA kernels give the bits of the plain ones, whatever the graph: laws for tests of few and of many seeds.
#pragma once

#include <iosfwd>
#include <span>

namespace isthmus::test {

struct TosaLaw {
  const char* name;
  void (*check)(unsigned seed);  // reports to the running test
};
std::span<const TosaLaw> tosa_laws();
void PrintTo(const TosaLaw& law, std::ostream* stream);

}  // namespace isthmus::test
