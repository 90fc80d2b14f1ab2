// Runs a segment on the local library node by node and shows every value right after it was made, while it is still in
// the cache. Memory is used again after the last reader.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backends/layout.h"
#include "backends/xnnpack/shapes.h"
#include "base/expected.h"
#include "exec/tensor.h"
#include "ir/graph.h"

namespace isthmus::xnnpack {

// One value of the graph in memory. Several values may lie in the same bytes: a reshape or a permute moves nothing.
struct TappedValue {
  ValueId id;
  Dims sizes;   // in the order of memory
  Order order;  // the axes of the value in that order
};

// Called once for all values that lie in the same bytes.
using Tap = std::function<void(std::span<const float> numbers, std::span<const TappedValue> values)>;
using CodesTap = std::function<void(std::span<const std::int8_t> codes, std::span<const TappedValue> values)>;

class TappedSegment {
 public:
  static Expected<TappedSegment> build(const Graph& graph, const Segment& segment);
  TappedSegment(TappedSegment&&) noexcept;
  TappedSegment& operator=(TappedSegment&&) noexcept;
  ~TappedSegment();

  // One tensor for each input of the segment; gives one for each output. Values that only exist before a clamp that the
  // delegate fuses are not shown.
  Expected<std::vector<Tensor>> run(std::span<const Tensor> inputs, const Tap& tap, const CodesTap& codes_tap = {});

  struct Live;

 private:
  explicit TappedSegment(std::unique_ptr<Live> live);

  std::unique_ptr<Live> live_;
};

}  // namespace isthmus::xnnpack
