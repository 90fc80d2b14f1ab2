// Runs a delegate's graph on the local library node by node and shows every value right after it was made, while it is
// still in the cache. Memory is used again after the last reader.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "engines/xnnpack/shapes.h"
#include "formats/executorch/pte.h"
#include "formats/executorch/xnn_blob.h"
#include "interpret/tensor.h"
#include "ir/axis_order.h"
#include "ir/ids.h"

namespace isthmus::xnnpack {

// One value of the graph in memory. Several values may lie in the same bytes: a reshape or a permute moves nothing.
struct TappedValue {
  ValueId id;
  Dims sizes;   // in the order of memory
  Order order;  // the axes of the value in that order
};

// Called once for all values that lie in the same bytes.
using Tap = std::function<void(std::span<const float> numbers, std::span<const TappedValue> values)>;
using QuantizedTap = std::function<void(std::span<const std::int8_t> quantized, std::span<const TappedValue> values)>;

// A value of the delegate's graph that holds a value of the model's.
struct TapPoint {
  ValueId id;
  std::uint32_t value;
  Order order;  // the axes of the model's value in memory
};

// A delegate's graph, and what of it is shown.
struct TappedSource {
  xnn::Graph graph;
  std::vector<std::optional<Blob>>
      inputs;                    // by external id: the bytes of a constant, or nothing where a run gives them
  std::size_t output_count = 0;  // behind the inputs
  std::vector<pte::NamedData> named_data;
  std::vector<TapPoint> points;
};

class TappedRuntime {
 public:
  static Expected<TappedRuntime> build(TappedSource source);
  TappedRuntime(TappedRuntime&&) noexcept;
  TappedRuntime& operator=(TappedRuntime&&) noexcept;
  ~TappedRuntime();

  // One tensor for each input that is not constant; gives one for each output. Values that only exist before a clamp
  // that the delegate fuses are not shown.
  Expected<std::vector<Tensor>> run(std::span<const Tensor> inputs, const Tap& tap,
                                    const QuantizedTap& quantized_tap = {});

  struct Live;

 private:
  explicit TappedRuntime(std::unique_ptr<Live> live);

  std::unique_ptr<Live> live_;
};

}  // namespace isthmus::xnnpack
