// The graph of an XNNPACK delegate that shows its values: a second one that is run node by node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"
#include "engines/xnnpack/shapes.h"
#include "engines/xnnpack/tapped.h"
#include "formats/executorch/xnn_blob.h"
#include "program/run/delegate.h"

namespace isthmus::run {

class ShownXnnpack {
 public:
  // The library has been seen to take the whole graph. Graphs with values of other kinds than floats and quantized
  // ones of 8 bits show nothing.
  static Expected<ShownXnnpack> load(const xnn::Graph& graph,
                                     const std::function<std::optional<Blob>(const std::string&)>& named_data);

  // Shapes and buffers by external id, as the whole graph has them. Shows every value that is made; what the library
  // fuses into its reader exists nowhere and is not shown.
  Expected<void> run(std::span<const xnnpack::Dims> shapes, std::span<std::byte* const> buffers, const ShowValue& show);

 private:
  struct Input {
    std::size_t external = 0;
    std::uint32_t value = 0;
  };

  std::optional<xnnpack::TappedRuntime> runtime_;  // none: it shows nothing
  std::vector<Input> inputs_;                      // in the order of values
  std::vector<xnn::DataType> types_;               // by value
};

}  // namespace isthmus::run
