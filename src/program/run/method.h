// A method of a program file, ready to run: its memory, values, delegates and kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "interpret/tensor.h"
#include "program/anatomy/event.h"

struct pthreadpool;

namespace isthmus::run {

struct LoadOptions {
  pthreadpool* threads = nullptr;               // the caller's; null: the calling thread alone
  std::uint64_t max_bytes = kMaxRunBytes;       // of the plan's memory, and again of all delegates' values
  std::uint64_t max_instructions = 10'000'000;  // in one run
  std::uint64_t max_work = ~std::uint64_t{0};   // of one call of a TOSA delegate: elements and products
  bool with_profile = false;                    // keeps the time of every operator, see Method::profile
  bool shows_values = false;                    // delegates can show the values of their graphs, see Method::run
};

// A tensor among the inputs or outputs, as the file declares it.
struct TensorInfo {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> sizes;  // where dynamic, the upper bounds
  bool is_dynamic = false;
};

// Memory that keeps what a run leaves there, and began with a value of the file.
struct StateInfo {
  std::string name;  // in the user's module; may be empty
  TensorInfo type;
};

struct Statistics {
  std::uint64_t delegate_calls = 0;
  std::uint64_t host_calls = 0;
  std::uint64_t io_calls = 0;  // those host calls that quantize an input or dequantize an output of the model
  double delegate_seconds = 0;
  double host_seconds = 0;
};

// One operator of a delegate, or one call on the host.
struct OperatorTime {
  std::optional<std::size_t> delegate;  // none: on the host
  std::string name;
  double seconds = 0;
};

class Method {
 public:
  // Verifies the whole file. Named data and constants stay in the file where they can.
  static Expected<Method> load(const Blob& file, const std::string& name = "forward", const LoadOptions& options = {});

  Method(Method&&) noexcept;
  Method& operator=(Method&&) noexcept;
  ~Method();

  // The inputs that are tensors; the others have the values with which the model was traced.
  const std::vector<TensorInfo>& inputs() const;
  std::size_t output_count() const;
  std::vector<StateInfo> states() const;
  std::size_t delegate_count() const;
  std::uint64_t memory_bytes() const;  // of the plan

  // Copies the inputs in and the outputs out; states stay for the next run. Numbers among the outputs become tensors
  // without axes; what is neither tensor nor number is empty.
  // Every value that a step makes is shown to `show`; inside of delegates only where it was loaded to show values.
  Expected<std::vector<std::optional<Tensor>>> run(std::span<const Tensor> inputs, const anatomy::Show& show = {});

  // The next run is again the first one: every state has its initial value.
  void reset();

  // Since loading.
  const Statistics& statistics() const;

  // The sum of all runs since loading or since it was cleared, in the order of the program. A delegate that does not
  // know its operators is one row. Empty where the method was loaded without a profile.
  std::vector<OperatorTime> profile() const;
  void clear_profile();

  struct State;  // for the loader and the executor

 private:
  explicit Method(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace isthmus::run
