// What vela, Arm's compiler for Ethos-U, gives for a graph, and the stream in which a program file holds it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"

namespace isthmus::vela {

// An input or output in the device's memory.
struct Tensor {
  std::array<std::int32_t, 6> shape{};  // ones before its own sizes
  std::int32_t element_bytes = 0;
  std::int32_t offset = 0;
  std::int32_t region = 0;

  std::int64_t count() const;
};

struct Network {
  Blob commands;
  Blob weights;
  std::uint32_t scratch_bytes = 0;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
};

// Of its raw output, a .npz file.
Expected<Network> read_network(const Blob& npz);

// The blocks that the device's delegate reads, in their order.
Expected<std::vector<std::byte>> write_stream(const Network& network);

// The scratch memory that the network of a stream asks for; nothing where the bytes are no such stream.
std::optional<std::uint64_t> scratch_bytes_of(const Blob& stream);

// What it estimates of a run. Kibibytes, cycles and seconds as in its table.
struct Estimate {
  double sram_kib = 0;
  double dram_kib = 0;
  double flash_kib = 0;  // on and off the chip
  double cycles = 0;
  double seconds = 0;
};

// Of its summary, a table of one row. Nothing where a column is missing or holds no number.
std::optional<Estimate> read_summary(std::string_view csv);

}  // namespace isthmus::vela
