// Why nodes are where they are, down to the node that causes it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/outcome.h"

namespace isthmus {

// One step of a chain of causes, in words: the next one says why.
struct CauseRow {
  std::string node, op, origin, module;
  std::string code;  // of the reason, or of the precision's cause
  std::string text;
  std::string hint = {};  // what to do about it, of the last row of a chain; may be empty
};

// "softmax %attention (vit.py:20 softmax in blocks.0): text [code]"
std::string to_text(const CauseRow& row);

// Of the nodes on the host. A node that is there because of another one's values has that one as its cause; a node
// without a cause is a root.
class HostCauses {
 public:
  explicit HostCauses(const Outcome& outcome);

  // From the node of `graph`, which is on the host, to the root, each caused by the next.
  std::vector<NodeId> chain(NodeId id) const;
  // That some node which computes goes back to, in execution order.
  std::vector<NodeId> roots() const;
  // How many nodes that compute are on the host because of it alone, itself included.
  std::size_t nodes_of(NodeId root) const;
  // How many delegates there would be if the device ran these, and whatever is on the host only because of them.
  std::size_t delegates_with(std::span<const NodeId> roots) const;

  std::vector<CauseRow> rows(NodeId id) const;
  // What the user can do about the root, or that nothing needs doing. Never empty.
  std::string advice(NodeId root) const;
  // Whether it costs delegates, or the CPU cannot run it either.
  bool needs_fix(NodeId root) const;
  // The smallest change that would help, in words: what to do about the root, and what it would bring.
  std::string fix(NodeId root) const;

 private:
  void add_producers(NodeId id);
  void add_readers(NodeId id);
  bool is_on_host(NodeId id) const { return outcome_.host_reason(id) != nullptr; }
  bool computes(NodeId id) const { return !is_conversion(outcome_.graph, outcome_.graph[id]); }
  std::vector<bool> freed_by(std::span<const NodeId> roots) const;
  CauseRow root_row(NodeId root) const;
  void find_device_around();
  // What to do about the root, wherever it is in the model.
  std::string remedy(NodeId root) const;
  // The model's node, where the device refuses what became of it because it has no quantized values.
  std::optional<NodeId> kept_in_float(NodeId id) const;

  const Outcome& outcome_;
  // By node of what runs:
  std::vector<std::vector<NodeId>> causes_;
  std::vector<bool> is_behind_device_, is_before_device_;  // some node of a delegate is among those that it waits for,
                                                           // or among those that wait for it
  bool is_split_ = false;  // there would be fewer delegates if all roots were on the device
};

// Why a node of the model is not quantized: the node itself, or the neighbour that causes it. Empty where it is
// quantized, or the model stays in float as a whole.
std::vector<CauseRow> float_causes(const Outcome& outcome, NodeId of_model);

// What stands for a cause of a node's precision: a code, a sentence, and what to do where one wants it
// otherwise.
struct PrecisionWords {
  PrecisionCause cause;
  std::string_view code, sentence;
  std::string_view hint = {};
};
const PrecisionWords& words_of(PrecisionCause cause);
// The sentence, or that of the reason for which the device has no integers.
CauseRow precision_row(const Outcome& outcome, NodeId of_model);

}  // namespace isthmus
