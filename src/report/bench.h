// How fast a program file or a TOSA graph is.
#pragma once

#include <cstddef>
#include <string>

#include "program/run/measure.h"
#include "report/rows.h"

namespace isthmus {

struct BenchSummary {
  std::string file;
  std::size_t threads = 1;
  double load_seconds = 0;
  run::Measurement measured;
  bool is_program = true;  // or a TOSA graph, which has neither delegates nor a host
};

// Of the time that delegates and host take together.
double share_of(double seconds, const run::Measurement& measured);

std::string to_text(const BenchSummary& summary, TextStyle style);
std::string to_json(const BenchSummary& summary);

}  // namespace isthmus
