// What moved between two files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "program/anatomy/anatomy.h"
#include "report/diff/facts.h"
#include "report/rows.h"
#include "stats/statistics.h"

namespace isthmus {

// A file as a comparison sees it.
struct DiffSide {
  std::string path;
  std::string kind;                     // "a program file (.pte)"
  Facts facts;                          // of `inspect --json`, or of the report that the file is
  std::optional<anatomy::Graph> graph;  // of models and programs
  bool is_model = false;                // and what the graph is of
  std::optional<Statistics> statistics;
};

struct Difference {
  struct Figure {
    std::string key;
    std::optional<Fact> a, b;  // nothing where only the other file knows it
  };
  struct Fallback {
    FallbackKey key;
    std::size_t a = 0, b = 0;  // how many
  };
  struct NodeRow {
    std::string name, op, place, fields;
    Origin origin;
  };
  // One thing of a node that both have.
  struct Change {
    std::string what;  // "scale of output 0", "weights"
    std::string a, b;
  };
  struct ChangedNode {
    NodeRow a, b;
    std::vector<Change> changes;
  };
  struct Nodes {
    std::size_t same = 0;
    std::vector<ChangedNode> changed;
    std::vector<NodeRow> only_a, only_b;
  };
  // The range of a value of a calibration, as 8 bits would take it.
  struct Range {
    std::string value;
    std::pair<double, double> a, b;
    double ratio = 1;  // of the widths
  };

  std::string a, b, kind_a, kind_b;
  std::vector<std::string> compared;  // of files of unlike kinds: what both know
  std::vector<Figure> figures;        // a row of a list that only one has is one figure without numbers
  std::vector<Fallback> fallbacks;
  std::optional<Nodes> nodes;
  std::vector<Range> ranges;              // those that moved most first
  std::vector<std::string> not_compared;  // sentences

  bool is_none() const;
};

// Fails where the files have nothing in common.
Expected<Difference> difference(const DiffSide& a, const DiffSide& b);

// With `is_verbose` all rows, else the first ones of each part.
std::string to_text(const Difference& difference, TextStyle style, bool is_verbose);
std::string to_json(const Difference& difference);

}  // namespace isthmus
