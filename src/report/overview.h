// What `explain` says about a whole model: delegates, what is on the host and because of whom, precisions, groups.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/causes.h"
#include "report/compile.h"

namespace isthmus {

struct Overview {
  // A node on the host that is its own cause.
  struct Root {
    CauseRow cause;
    std::size_t nodes = 0;      // on the host because of it alone
    std::size_t delegates = 0;  // if the device ran it
    std::string fix;
  };
  struct Because {
    std::string text;
    std::size_t nodes = 0;
    std::string example;  // the first node of them
  };
  struct NodesOf {
    std::string precision;  // as in an Explanation; "host" for whatever the device does not run
    std::size_t nodes = 0;
    std::vector<Because> because;  // the most frequent first
  };
  struct SharedScale {
    std::string first;  // its first member
    std::size_t members = 0;
    std::string storage;
    float scale = 0;
    std::int32_t zero_point = 0;
    Range range;
    std::string worst;  // who loses most bits
    double worst_bits = 0;
  };

  // What the target has no form for, and what became of it.
  struct Rewritten {
    std::string rewrite, what;
    std::size_t nodes = 0;
    std::string example;  // the first node of them
  };

  CompileSummary summary;
  std::vector<Rewritten> rewrites;  // in the order of the target's table
  std::vector<Root> roots;
  std::vector<NodesOf> precisions;  // the most frequent first
  std::size_t conversions = 0;      // nodes of what runs that the model does not have
  bool has_ranges = false;
  std::vector<SharedScale> groups;  // the largest first
};

Overview overview_of(CompileSummary summary, const Outcome& outcome, const HostCauses& host);

std::string to_text(const Overview& overview, bool is_verbose);
std::string to_json(const Overview& overview);

}  // namespace isthmus
