// What each value would be quantized with, if it were alone.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "quantize/config/config.h"
#include "quantize/config/pins.h"
#include "stats/range.h"
#include "stats/statistics.h"

namespace isthmus {

class Ranges {
 public:
  // Without statistics only pins are known. Movers, joins and clamps have the ranges of the pins that they read: finer
  // quantized values than those would tell nothing more.
  Ranges(const Graph& graph, const Statistics* statistics, const std::vector<NodeSettings>& settings,
         const std::vector<DType>& storage, const Pins& pins);

  bool is_known() const { return statistics_ != nullptr; }
  bool is_known(ValueId id) const { return statistics_ != nullptr || is_derived_[id.index]; }
  // Contains 0; [0, 0] where nothing is known or only zeros were seen. A value of which calibration says nothing is an
  // error: the statistics belong to another graph.
  Expected<Range> own(ValueId id);
  // The same in quantized values of another width.
  Expected<Range> own(ValueId id, DType storage);
  // One range for several values, each of which counts as much as any other. What only moves the numbers of another
  // value of the list should not be in it.
  Expected<Range> shared(std::span<const ValueId> values);
  // Null where calibration says nothing of the value.
  const ValueStatistics* find_statistics(ValueId id);

 private:
  // Of a constant: of its data.
  Expected<const ValueStatistics*> statistics_of(ValueId id);
  // What the op, the user or a clamp say of the range.
  Range limited(ValueId id, Range range) const;
  RangeOptions options_of(ValueId id, DType storage) const;
  // What follows from pins alone.
  void derive(const Node& node);

  const Graph& graph_;
  const Statistics* statistics_;
  const std::vector<NodeSettings>& settings_;
  const std::vector<DType>& storage_;  // by value
  std::map<ValueId, ValueStatistics> of_constants_;
  std::vector<std::optional<Range>> own_;
  std::vector<bool> is_derived_;  // by value: known without statistics
};

}  // namespace isthmus
