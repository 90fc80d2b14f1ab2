// Finds the groups of axes and carries orders from one side to the other.
#include "targets/reshape_order.h"

#include <algorithm>

namespace isthmus {
namespace {

std::vector<std::uint8_t> long_axes(const Shape& shape) {
  std::vector<std::uint8_t> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].is(1)) axes.push_back(static_cast<std::uint8_t>(i));
  }
  return axes;
}

// Whether the product a must be multiplied further before it can equal b.
bool is_part_of(Exprs& exprs, Dim a, Dim b) {
  if (a.is_fixed() && b.is_fixed()) return a.value() < b.value();
  return exprs.divide_exactly(b, a).has_value();
}

}  // namespace

ReshapeOrder::ReshapeOrder(Exprs& exprs, const Shape& input, const Shape& output)
    : input_rank_(input.size()), output_rank_(output.size()) {
  const Axes ins = long_axes(input);
  const Axes outs = long_axes(output);
  std::size_t i = 0;
  std::size_t k = 0;
  while (i < ins.size() && k < outs.size()) {
    Axes in_group{ins[i]};
    Axes out_group{outs[k]};
    Dim a = input[ins[i++]];
    Dim b = output[outs[k++]];
    while (a != b) {
      if (i < ins.size() && (is_part_of(exprs, a, b) || k == outs.size())) {
        in_group.push_back(ins[i]);
        a = exprs.multiply(a, input[ins[i++]]);
      } else if (k < outs.size()) {
        out_group.push_back(outs[k]);
        b = exprs.multiply(b, output[outs[k++]]);
      } else {
        break;  // equal only by what the exporter knew: all that is left is one group
      }
    }
    input_groups_.push_back(std::move(in_group));
    output_groups_.push_back(std::move(out_group));
  }
  // Axes whose sizes multiply to one by what the exporter knew.
  for (; i < ins.size(); ++i) {
    if (input_groups_.empty()) input_groups_.emplace_back(), output_groups_.emplace_back();
    input_groups_.back().push_back(ins[i]);
  }
  for (; k < outs.size(); ++k) {
    if (output_groups_.empty()) input_groups_.emplace_back(), output_groups_.emplace_back();
    output_groups_.back().push_back(outs[k]);
  }
}

std::optional<ReshapeOrder::Axes> ReshapeOrder::follow(const std::vector<Axes>& from, const std::vector<Axes>& to,
                                                       std::size_t rank, const Axes& order) {
  Axes long_order;
  for (const std::uint8_t axis : order) {
    if (std::ranges::any_of(from, [&](const Axes& group) { return std::ranges::find(group, axis) != group.end(); })) {
      long_order.push_back(axis);
    }
  }
  Axes result;
  std::size_t at = 0;
  while (at < long_order.size()) {
    const auto group = std::ranges::find_if(from, [&](const Axes& axes) { return axes.front() == long_order[at]; });
    if (group == from.end() || long_order.size() - at < group->size() ||
        !std::equal(group->begin(), group->end(), long_order.begin() + static_cast<std::ptrdiff_t>(at))) {
      return std::nullopt;
    }
    at += group->size();
    const Axes& there = to[static_cast<std::size_t>(group - from.begin())];
    result.insert(result.end(), there.begin(), there.end());
  }
  // Each axis of size one behind the axis before it.
  for (std::uint8_t axis = 0; axis < rank; ++axis) {
    if (std::ranges::find(result, axis) != result.end()) continue;
    const auto before = axis == 0 ? result.end() : std::ranges::find(result, static_cast<std::uint8_t>(axis - 1));
    result.insert(axis == 0 ? result.begin() : before + 1, axis);
  }
  return result;
}

}  // namespace isthmus
