// NumPy's .npy files: one array each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/tensor.h"

namespace isthmus {

struct NpyHeader {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  bool is_fortran_order = false;  // the first axis varies fastest
  std::uint64_t bytes = 0;        // of the header: the data follow
  std::uint64_t data_bytes = 0;   // by dtype and shape
};

// Reads format versions 1 to 3. Refuses other byte orders than little, Python objects, structured and unknown types.
// `size` is that of the whole file, of which `bytes` may be just a beginning that holds the header; nothing where other
// arrays may follow.
Expected<NpyHeader> read_npy_header(std::span<const std::byte> bytes, std::optional<std::uint64_t> size);

// How many bytes the header takes, by its first `kNpyPrefixBytes` ones or the whole file if that is shorter.
inline constexpr std::size_t kNpyPrefixBytes = 12;
Expected<std::uint64_t> npy_header_bytes(std::span<const std::byte> prefix);

// A view into `file`; its elements may be unaligned.
Expected<TensorView> read_npy(const Blob& file);

// The bytes of a .npy file, version 1, C order. Fails for element types that NumPy does not have.
Expected<std::vector<std::byte>> write_npy(const TensorView& tensor);

}  // namespace isthmus
