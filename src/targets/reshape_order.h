// Which order of a reshape's result goes with which order of its input.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/exprs.h"
#include "ir/types.h"

namespace isthmus {

// A reshape merges and splits groups of neighbouring axes. Where the axes of each group lie together in memory and in
// their order, the same bytes are the result with its groups in the same order. Axes of size one lie anywhere.
class ReshapeOrder {
 public:
  ReshapeOrder(Exprs& exprs, const Shape& input, const Shape& output);

  // Nothing where the axes of a group are torn apart.
  std::optional<std::vector<std::uint8_t>> to_output(const std::vector<std::uint8_t>& input) const {
    return follow(input_groups_, output_groups_, output_rank_, input);
  }
  std::optional<std::vector<std::uint8_t>> to_input(const std::vector<std::uint8_t>& output) const {
    return follow(output_groups_, input_groups_, input_rank_, output);
  }

 private:
  using Axes = std::vector<std::uint8_t>;
  static std::optional<Axes> follow(const std::vector<Axes>& from, const std::vector<Axes>& to, std::size_t rank,
                                    const Axes& order);

  std::size_t input_rank_;
  std::size_t output_rank_;
  std::vector<Axes> input_groups_;  // axes longer than one
  std::vector<Axes> output_groups_;
};

}  // namespace isthmus
