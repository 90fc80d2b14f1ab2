// A delegate's graph, alive in the library: reshaped, set up and run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"
#include "engines/xnnpack/shapes.h"
#include "formats/executorch/xnn_blob.h"

struct xnn_runtime;

namespace isthmus::xnnpack {

// How many readable bytes the library wants behind every buffer that it is given.
inline constexpr std::size_t kExtraBytes = 64;

// What may be passed to a runtime, by external id. Ids without a value have no data and are skipped.
struct External {
  xnn::Role role = xnn::Role::kInternal;  // kInternal: there is no such value
  xnn::DataType datatype = xnn::DataType::kF32;
  Dims dims;  // as declared: the upper bounds
};

struct OperatorTime {
  std::string name;  // the library's: the operator, its layout, types and kernel
  double seconds = 0;
};

class Runtime {
 public:
  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;
  ~Runtime();

  const std::vector<External>& externals() const { return externals_; }

  // What its values take at their declared shapes, constants included.
  std::uint64_t bytes() const;

  // Tells the shapes of the inputs, by external id, and gives those of all externals. Costs nothing where they are as
  // before. After a failure every run fails until a reshape succeeds.
  Expected<std::vector<Dims>> reshape(std::span<const Dims> inputs);

  // Runs over one buffer for each external, each with kExtraBytes readable behind it.
  Expected<void> run(std::span<std::byte* const> buffers);

  // How long each operator of the last run took, in their order, each cut to whole microseconds. Only of runtimes
  // built with a profile.
  Expected<std::vector<OperatorTime>> profile() const;

 private:
  friend class Builder;
  struct Live;
  explicit Runtime(std::unique_ptr<Live> live);

  std::unique_ptr<Live> live_;
  std::vector<External> externals_;
};

}  // namespace isthmus::xnnpack
