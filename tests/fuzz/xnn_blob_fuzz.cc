// Reads arbitrary bytes as the graph of an XNNPACK delegate; what is accepted is written again, built and run.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "engines/xnnpack/builder.h"
#include "engines/xnnpack/runtime.h"
#include "formats/executorch/xnn_blob.h"
#include "fuzz/flatbuffer_mutator.h"

namespace {

constexpr std::size_t kMaxBytes = 1 << 20;
constexpr std::byte kCanary{0xA5};

void require(bool holds) {
  if (!holds) __builtin_trap();
}

// The library is not instrumented, so an inaccessible page lies behind each buffer, and bytes that nothing may
// write between the two.
class GuardedBuffer {
 public:
  GuardedBuffer() {
    constexpr std::size_t kPage = 4096;
    void* memory = ::mmap(nullptr, kBytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(memory != MAP_FAILED);
    end_ = static_cast<std::byte*>(memory) + kBytes;
    require(::mprotect(end_, kPage, PROT_NONE) == 0);
  }
  std::byte* prepare(std::size_t bytes) {
    start_ = end_ - (bytes + isthmus::xnnpack::kExtraBytes + 15) / 16 * 16;
    size_ = bytes;
    std::memset(start_, 0x3C, bytes);
    std::fill(start_ + bytes, end_, kCanary);
    return start_;
  }
  bool is_intact() const {
    return std::all_of(start_ + size_, end_, [](std::byte b) { return b == kCanary; });
  }

 private:
  static constexpr std::size_t kBytes = kMaxBytes + 4096;
  std::byte* end_ = nullptr;
  std::byte* start_ = nullptr;
  std::size_t size_ = 0;
};

std::size_t byte_count(const isthmus::xnnpack::Dims& dims, isthmus::xnn::DataType datatype) {
  std::size_t bytes = isthmus::xnn::bits_of(datatype) / 8;
  for (const std::size_t dim : dims) bytes *= dim;
  return bytes;
}

void run(isthmus::xnnpack::Runtime& runtime, const std::vector<isthmus::xnnpack::Dims>& inputs) {
  const auto shapes = runtime.reshape(inputs);
  if (!shapes) return;
  static std::vector<GuardedBuffer> buffers;
  const auto& externals = runtime.externals();
  while (buffers.size() < externals.size()) buffers.emplace_back();
  std::vector<std::byte*> pointers(externals.size(), nullptr);
  for (std::size_t i = 0; i < externals.size(); ++i) {
    if (externals[i].role == isthmus::xnn::Role::kInternal) continue;
    pointers[i] = buffers[i].prepare(byte_count((*shapes)[i], externals[i].datatype));
  }
  (void)runtime.run(pointers);
  for (std::size_t i = 0; i < externals.size(); ++i) require(pointers[i] == nullptr || buffers[i].is_intact());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const isthmus::Blob blob(std::as_bytes(std::span(data, size)), nullptr);
  const auto graph = isthmus::xnn::read_blob(blob);
  if (!graph) {
    require(!graph.error().text().empty());
    return 0;
  }
  const auto bytes = isthmus::xnn::write_blob(*graph);
  require(bytes.has_value());
  const auto again = isthmus::xnn::read_blob(isthmus::Blob(*bytes, nullptr));
  require(again.has_value());
  // Not the graphs themselves: a scale may be no number, which is equal to nothing.
  const auto bytes_again = isthmus::xnn::write_blob(*again);
  require(bytes_again && *bytes_again == *bytes);
  // Its bytes are usable as scales, as weights and quantized.
  static const isthmus::Blob named = isthmus::Blob::owning(std::vector<std::byte>(kMaxBytes, std::byte{0x3C}));
  const auto lookup = [](const std::string&) { return std::optional(named); };
  if (graph->external_count > 32) return 0;
  auto runtime = isthmus::xnnpack::build(*graph, lookup, {.max_bytes = kMaxBytes});
  if (!runtime) {
    require(!runtime.error().text().empty());
    return 0;
  }
  std::vector<isthmus::xnnpack::Dims> inputs;
  for (const auto& external : runtime->externals()) inputs.push_back(external.dims);
  run(*runtime, inputs);
  for (auto& dims : inputs) {
    if (!dims.empty()) dims[0] = dims[0] / 2 + 1;
  }
  run(*runtime, inputs);
  for (auto& dims : inputs) {
    if (!dims.empty()) dims.back() += 1;
  }
  run(*runtime, inputs);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  return isthmus::fuzz::mutate_flatbuffer(data, size, max, seed);
}
