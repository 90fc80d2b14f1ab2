// Computes TOSA graphs in integers, bit for bit as the standard says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"
#include "formats/tosa/tosa.h"
#include "interpret/tensor.h"

struct pthreadpool;

namespace isthmus::tosa {

enum class Kernels : std::uint8_t {
  kFast,
  kPlain,  // loops that say what the operators mean; the others give the same bits
};

struct LoadOptions {
  pthreadpool* threads = nullptr;              // the caller's; null: the calling thread alone
  std::uint64_t max_bytes = kMaxRunBytes;      // of its memory, and again of what is prepared
  std::uint64_t max_work = ~std::uint64_t{0};  // steps of one run: elements and products
  Kernels kernels = Kernels::kFast;
  bool keeps_memory = true;  // of a run for the next one
};

// An input or output.
struct Port {
  std::string name;
  Type type = Type::kUnknown;
  DType dtype = DType::kI8;  // in memory: i4 is i8, i48 is i64
  std::vector<std::int64_t> sizes;
  // Bits that RESCALE takes or gives as unsigned, and that are only moved else: u8 and u16 are as right.
  bool is_unsigned = false;

  bool takes(DType element) const;
};

class Interpreter {
 public:
  // Checks all that TOSA demands, plans memory and prepares weights. Fails with a sentence that names the operator.
  static Expected<Interpreter> load(Graph graph, const LoadOptions& options = {});

  Interpreter(Interpreter&&) noexcept;
  Interpreter& operator=(Interpreter&&) noexcept;
  ~Interpreter();

  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  std::uint64_t memory_bytes() const;  // that a run takes
  std::uint64_t prepared_bytes() const;
  std::uint64_t work() const;  // steps of one run, in the worst case

  // On the caller's threads. Several runs may go on at once, each with memory of its own.
  Expected<std::vector<Tensor>> run(std::span<const Tensor> inputs) const;
  // A run for each sample, each on one of the caller's threads: the better way to use them where samples are small.
  Expected<std::vector<std::vector<Tensor>>> run_each(std::span<const std::vector<Tensor>> samples) const;

 private:
  struct State;
  explicit Interpreter(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace isthmus::tosa
