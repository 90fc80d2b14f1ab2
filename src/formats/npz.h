// NumPy's .npz files: a zip of named arrays, which can be larger than memory. Opening one reads headers only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/tensor.h"
#include "formats/npy.h"
#include "formats/zip.h"

namespace isthmus {

struct NpzArray {
  std::string name;  // without ".npy"
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  bool is_compressed = false;
  bool is_fortran_order = false;     // the first axis varies fastest
  std::optional<Error> unsupported;  // why its elements are not read, such as text; then it has no type and no shape
};

// Parts of an array along its first axis. Arrays that lie in the file as they are give any rows without a copy.
// Compressed ones are inflated from first to last, so rows should be asked for in ascending order; going back starts
// over. The checksum is tested when the last row is read. Outlives the Npz it comes from.
class RowReader {
 public:
  // Fails for a tensor of no axis.
  static Expected<RowReader> over(TensorView whole);

  std::int64_t row_count() const { return row_count_; }
  // Rows before this one will not be asked for: the checksum of an array that is not compressed, which needs them, is
  // not tested then.
  void begin_at(std::int64_t row) {
    if (row > 0) checksum_.reset();
  }
  // A tensor of `count` rows from `first` on; fails if the array has fewer.
  Expected<TensorView> read(std::int64_t first, std::int64_t count);

 private:
  friend class Npz;
  explicit RowReader(TensorView whole);
  RowReader(TensorView whole, ZipChecksum checksum, NpyHeader header);
  RowReader(ZipStream stream, NpyHeader header);
  Expected<TensorView> inflate(std::int64_t first, std::int64_t count);

  std::int64_t row_count_ = 0;
  std::optional<TensorView> whole_;
  std::optional<ZipChecksum> checksum_;  // of an array that lies in the file as it is
  NpyHeader header_;
  std::uint64_t row_bytes_ = 0;
  // Of a compressed array:
  std::optional<ZipStream> stream_;
  std::int64_t next_row_ = 0;  // -1: the stream is not at a row
};

class Npz {
 public:
  // Arrays of element types that are not read are listed all the same.
  static Expected<Npz> open(Blob file);

  const std::vector<NpzArray>& arrays() const { return arrays_; }  // in the file's order
  const NpzArray* find(std::string_view name) const;               // null if there is none

  // A whole array, its checksum tested: a view into the file if stored, else inflated within the zip's budget and kept.
  Expected<TensorView> read(const NpzArray& array);
  // Fails for arrays of no axis. Compressed arrays in Fortran order are read whole.
  Expected<RowReader> rows(const NpzArray& array);

 private:
  explicit Npz(Zip zip) : zip_(std::move(zip)) {}
  // Fails where the array is not supported.
  Expected<const ZipEntry*> entry_of(const NpzArray& array) const;

  Zip zip_;
  std::vector<NpzArray> arrays_;
};

}  // namespace isthmus
