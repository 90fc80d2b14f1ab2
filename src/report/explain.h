// What `explain` says about one value and the node that makes it: where it runs, in which precision, with whom it
// shares a scale, and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/layer_errors.h"
#include "report/causes.h"
#include "report/outcome.h"
#include "stats/range.h"

namespace isthmus {

struct Explanation {
  // What a node asks of its values: parameters of `of`, another member, for the one that it brought in.
  struct MemberTie {
    std::string op, node, because, origin, of;
  };
  struct GroupMember {
    std::string value;
    double bits_lost = 0;
    std::optional<Range> own;      // what it would have alone; nothing where it is unknown or unseen
    std::optional<MemberTie> tie;  // nothing for the value that was asked for
  };
  struct SharedScale {
    std::vector<GroupMember> members;  // the nearest to the value first
    std::string storage;
    bool has_parameters = false;  // without data and pins there are none
    float scale = 0;
    std::int32_t zero_point = 0;
    Range range;
    std::string pin, pin_origin;  // the value to which the archive gives these parameters, and where; may be empty
  };
  // A rescale on an edge of the group.
  struct CutEdge {
    std::string value, reader, op, origin, because;
    double bits = 0;
    std::uint64_t bytes = 0;
    bool is_own = false;  // the edge begins or ends at the value that was asked for
  };
  struct Converted {
    std::string value, kind, place;
  };
  struct Loss {
    double db = 0, cosine = 0;
    double rounding_db = 0, alone_db = 0;
  };

  // A rewrite for the target's sake that the value comes from.
  struct Rewritten {
    std::string rewrite, what;
    std::string of;  // the value that it stood for
  };
  struct DeviceOperators {
    std::string name;
    std::size_t count = 0;
  };

  std::string node, op, type;
  std::string origin, call, module;
  std::vector<std::string> aliases;      // names that the model has for what became this node or a part of it
  std::string precision;                 // "int8", "int16", "rows", "float", or the element type of what was never real
  std::string place;                     // "xnnpack:0", "host"; "input", "constant"
  std::string because;                   // of the precision
  std::size_t siblings = 0;              // nodes that come from the same call of the model
  std::vector<Rewritten> rewrites;       // the first of them first
  std::vector<DeviceOperators> becomes;  // on the device, where one node may become several operators
  std::vector<std::string> readers;
  std::optional<SharedScale> group;
  std::vector<CutEdge> cuts;  // its own first
  std::vector<Converted> conversions;
  std::vector<CauseRow> causes;  // why it is on the host, or in float
  std::string fix;
  bool needs_fix = true;  // it says what to do, and not that nothing is to be done
  std::optional<Loss> error;
};

// `errors` are those of every value, or empty.
Explanation explain(const Outcome& outcome, const HostCauses& host, ValueId of_model,
                    const std::vector<ValueError>& errors);

// Values of the model that a word can mean: the one of this name; else all results of an op, a call, a line of the
// source or a module that is called so; else whatever has the word in its name, module or origin. Each node once.
std::vector<ValueId> find_values(const Outcome& outcome, std::string_view word);
// For words that mean nothing: names that look like it.
std::vector<std::string_view> names_near(const Outcome& outcome, std::string_view word);

// The rewrites for the target's sake that made the value, or what another one of them took apart to make it; in the
// order of the target's table.
std::vector<Explanation::Rewritten> rewrites_of(const Outcome& outcome, const std::string& value);
// Of a node that runs on a device where one node may become several operators.
std::vector<Explanation::DeviceOperators> device_operators(const Outcome& outcome, NodeId of_graph);

// Of a clamp of which nothing is left: the node that it became a part of.
std::optional<NodeId> node_that_runs(const Outcome& outcome, NodeId of_model);
// Of the model's node or of what became of it.
std::string place_text(const Outcome& outcome, ValueId of_model);
bool is_delegated(const Outcome& outcome, ValueId of_model);
std::string precision_text(const Outcome& outcome, ValueId of_model);

std::string to_text(const Explanation& explanation);
std::string to_json(const Explanation& explanation);
// Several values that a word may mean, one line each.
std::string to_text(const std::vector<Explanation>& matches);
std::string to_json(const std::vector<Explanation>& matches);

}  // namespace isthmus
