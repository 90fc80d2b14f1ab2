// A TOSA graph in a file of its own, run as in a delegate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "formats/tosa/tosa.h"
#include "program/run/method.h"

namespace isthmus::run {

class TosaGraph {
 public:
  // Checks all that TOSA demands. Of the options, threads, limits of bytes and work, and showing values count.
  static Expected<TosaGraph> load(const Blob& file, const LoadOptions& options = {});

  TosaGraph(TosaGraph&&) noexcept;
  TosaGraph& operator=(TosaGraph&&) noexcept;
  ~TosaGraph();

  const std::vector<TensorInfo>& inputs() const;
  std::size_t operator_count() const;  // constants are none

  // Shows its values only where it was loaded to show them.
  Expected<std::vector<std::optional<Tensor>>> run(std::span<const Tensor> inputs,
                                                   const anatomy::Show& show = {}) const;

 private:
  struct State;
  explicit TosaGraph(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

// The multiplications of its convolutions and matrices. Fails where the graph cannot be run, with the reason.
Expected<std::uint64_t> count_products(const tosa::Graph& graph);

}  // namespace isthmus::run
