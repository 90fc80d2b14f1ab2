// A program taken apart: the operators inside of its delegates and the calls on the host as one flat graph, in the
// order in which they run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/dtype.h"
#include "base/expected.h"
#include "formats/executorch/pte.h"
#include "formats/tosa/tosa.h"
#include "ir/graph.h"
#include "program/anatomy/event.h"

namespace isthmus::anatomy {

struct Value {
  std::string name;                             // of a TOSA graph and of a model their own
  std::string dtype;                            // "i8", "qcint8"
  std::vector<std::int64_t> sizes;              // in the order of memory; -1 where they are symbolic
  std::optional<Quant> quant;                   // where it is known
  std::optional<std::int32_t> zero_point = {};  // of a TOSA graph, whose operators name no scales
  std::optional<Blob> data;                     // of a constant, where the file has it
  bool is_constant = false;
  std::optional<Event> event;  // of what a run makes
};

struct Node {
  std::string op;
  std::string fields;                   // what it has besides its inputs, as text
  std::optional<std::size_t> delegate;  // none: on the host
  std::size_t number = 0;               // in its delegate's graph, or of the instruction
  std::vector<std::uint32_t> inputs;    // of Graph::values
  std::vector<std::uint32_t> outputs;
  Origin origin;                                   // of a model's node
  std::optional<std::uint32_t> debug_handle = {};  // by which profilers know it
};

// A value has one maker: what is written again is another value.
struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<std::uint32_t> inputs;
  std::vector<std::uint32_t> outputs;

  // By value: the node that makes it; nothing for inputs and constants.
  std::vector<std::optional<std::uint32_t>> makers() const;
  // By value: the nodes that read it, in order.
  std::vector<std::vector<std::uint32_t>> readers() const;
};

// "host", "delegate 3"
std::string place_of(const Node& node);

// A delegate whose graph is not read here is one node. Fails where the graph of another cannot be read, and where there
// are too many nodes.
Expected<Graph> take_apart(const pte::Program& program, const pte::Plan& plan);
Graph take_apart(const tosa::Graph& graph);
Graph take_apart(const isthmus::Graph& model);

}  // namespace isthmus::anatomy
