// The values of a program while it is built.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/expected.h"
#include "formats/pte.h"
#include "ir/graph.h"

namespace isthmus {

class ProgramValues {
 public:
  ProgramValues(const Graph& graph, pte::Program& program) : graph_(graph), program_(program) {}

  // The program's value for a value of the graph; made when first asked for.
  Expected<pte::ValueIndex> tensor(ValueId id);
  pte::ValueIndex constant(DType dtype, const std::vector<std::int64_t>& sizes, const Blob& bytes);
  pte::ValueIndex none() { return add(pte::None{}); }
  pte::ValueIndex integer(std::int64_t number) { return add(number); }
  pte::ValueIndex real(double number) { return add(number); }
  pte::ValueIndex truth(bool flag) { return add(flag); }
  pte::ValueIndex text(std::string text) { return add(std::move(text)); }
  pte::ValueIndex integers(const std::vector<std::int64_t>& numbers);
  pte::ValueIndex tensors(std::vector<pte::ValueIndex> items) { return add(pte::TensorList{std::move(items)}); }

  const Graph& graph() const { return graph_; }

 private:
  pte::ValueIndex add(pte::Value value);

  const Graph& graph_;
  pte::Program& program_;
  std::map<ValueId, pte::ValueIndex> by_id_;
};

}  // namespace isthmus
