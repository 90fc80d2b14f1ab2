// Reads and writes .npy files.
#include "formats/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/untrusted_text.h"
#include "formats/byte_reader.h"

namespace isthmus {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxDimensions = 64;
constexpr std::size_t kMaxHeaderBytes = 1 << 16;

constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"b1", DType::kBool}, {"u1", DType::kU8},  {"u2", DType::kU16}, {"u4", DType::kU32},   {"u8", DType::kU64},
    {"i1", DType::kI8},   {"i2", DType::kI16}, {"i4", DType::kI32}, {"i8", DType::kI64},   {"f2", DType::kF16},
    {"f4", DType::kF32},  {"f8", DType::kF64}, {"c8", DType::kC64}, {"c16", DType::kC128},
};

Expected<DType> dtype_of(std::string_view descr) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorKind::kUnsupported, fmt::format("npy: element type {} is not supported: {}", shown(descr), why));
  };
  if (descr.size() < 2) return refuse("it is not a NumPy type");
  const char order = descr[0];
  const auto* const row = std::ranges::find(kTypes, descr.substr(1), &std::pair<std::string_view, DType>::first);
  if (row == std::end(kTypes))
    return refuse("expected bool, integers, floats of 2, 4 or 8 bytes or complex numbers of 8 or 16 bytes");
  if (order == '>' && size_of(row->second) > 1) return refuse("its bytes are in big-endian order");
  if (order != '<' && order != '|' && order != '=' && order != '>') return refuse("it is not a NumPy type");
  return row->second;
}

// The header is a Python dict with three keys: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  Expected<NpyHeader> parse() {
    NpyHeader header;
    bool has_dtype = false, has_order = false, has_shape = false;
    TRY(demand('{'));
    while (!accept('}')) {
      const std::string_view key = TRY(text());
      TRY(demand(':'));
      if (key == "descr" && !std::exchange(has_dtype, true)) {
        if (peek() == '[') return fail(ErrorKind::kUnsupported, "npy: structured arrays are not supported");
        header.dtype = TRY(dtype_of(TRY(text())));
      } else if (key == "fortran_order" && !std::exchange(has_order, true)) {
        header.is_fortran_order = TRY(boolean());
      } else if (key == "shape" && !std::exchange(has_shape, true)) {
        header.shape = TRY(shape());
      } else {
        return broken(fmt::format("key {} is unknown or occurs twice", shown(key)));
      }
      if (!accept(',') && peek() != '}') return broken("expected a comma");
    }
    if (!has_dtype || !has_order || !has_shape) return broken("descr, fortran_order and shape are expected");
    if (peek() != '\0') return broken("text after its end");
    return header;
  }

 private:
  static tl::unexpected<Error> broken(std::string_view why) {
    return bad_input(fmt::format("npy: invalid header: {}", why));
  }

  // The next character that is not a space; '\0' at the end.
  char peek() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    return rest_.empty() ? '\0' : rest_.front();
  }
  bool accept(char c) {
    if (peek() != c || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }
  Expected<void> demand(char c) {
    if (!accept(c)) return broken(fmt::format("expected '{}'", c));
    return {};
  }

  Expected<std::string_view> text() {
    const char quote = peek();
    const std::size_t end = rest_.empty() ? std::string_view::npos : rest_.find(quote, 1);
    if ((quote != '\'' && quote != '"') || end == std::string_view::npos) return broken("expected a string");
    const std::string_view inside = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return inside;
  }

  Expected<bool> boolean() {
    peek();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return value;
    }
    return broken("fortran_order is expected to be True or False");
  }

  Expected<std::vector<std::int64_t>> shape() {
    std::vector<std::int64_t> sizes;
    TRY(demand('('));
    while (!accept(')')) {
      std::int64_t size = 0;
      peek();
      const auto [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (problem != std::errc() || size < 0) return broken("a size that is not a number, too large or negative");
      if (sizes.size() == kMaxDimensions) return broken("more than 64 dimensions");
      sizes.push_back(size);
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      // Python 2 wrote long integers so.
      if (peek() == 'L') accept('L');
      if (!accept(',') && peek() != ')') return broken("expected a comma between sizes");
    }
    return sizes;
  }

  std::string_view rest_;
};

// The bytes of the data. Empty axes count as one, so that strides of the others cannot overflow either.
std::optional<std::uint64_t> data_bytes(const NpyHeader& header) {
  bool is_empty = false;
  std::optional<std::uint64_t> bytes = size_of(header.dtype);
  for (const std::int64_t size : header.shape) {
    is_empty = is_empty || size == 0;
    bytes = bytes ? multiply_sizes(*bytes, static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1))) : std::nullopt;
  }
  if (!bytes || !std::in_range<std::int64_t>(*bytes)) return std::nullopt;
  return is_empty ? 0 : *bytes;
}

struct Preamble {
  std::uint64_t text_at;
  std::uint64_t text_bytes;
};

Expected<Preamble> read_preamble(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const auto magic = reader.take(kMagic.size());
  if (magic && text_of(*magic).starts_with("PK")) {
    return bad_input("npy: it is a zip archive, perhaps an .npz file; expected a single array (.npy)");
  }
  if (!magic || text_of(*magic) != kMagic) return bad_input("npy: it does not begin with NumPy's magic bytes");
  const auto major = reader.number<std::uint8_t>();
  const auto minor = reader.number<std::uint8_t>();
  if (!major || !minor) return bad_input("npy: the header is truncated");
  if (*major < 1 || *major > 3)
    return bad_input(fmt::format("npy: format version {} is not supported; 1 to 3 are", *major));
  std::optional<std::uint64_t> length;
  if (*major == 1) {
    length = reader.number<std::uint16_t>();
  } else {
    length = reader.number<std::uint32_t>();
  }
  if (!length) return bad_input("npy: the header is truncated");
  if (*length > kMaxHeaderBytes) {
    return bad_input(fmt::format("npy: a header of {} bytes; at most {} are supported", *length, kMaxHeaderBytes));
  }
  return Preamble{reader.position(), *length};
}

std::vector<std::int64_t> column_major_strides(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t axis = 1; axis < sizes.size(); ++axis) {
    strides[axis] = strides[axis - 1] * std::max<std::int64_t>(sizes[axis - 1], 1);
  }
  return strides;
}

}  // namespace

Expected<std::uint64_t> npy_header_bytes(std::span<const std::byte> prefix) {
  const Preamble preamble = TRY(read_preamble(prefix));
  return preamble.text_at + preamble.text_bytes;
}

Expected<NpyHeader> read_npy_header(std::span<const std::byte> bytes, std::optional<std::uint64_t> size) {
  const Preamble preamble = TRY(read_preamble(bytes));
  if (preamble.text_bytes > bytes.size() - preamble.text_at) return bad_input("npy: the header is truncated");
  NpyHeader header = TRY(HeaderParser(text_of(bytes.subspan(preamble.text_at, preamble.text_bytes))).parse());
  header.bytes = preamble.text_at + preamble.text_bytes;
  const auto needed = data_bytes(header);
  if (!needed) return bad_input(fmt::format("npy: the shape ({}) overflows", fmt::join(header.shape, ", ")));
  header.data_bytes = *needed;
  if (size && (*size < header.bytes || *size - header.bytes != header.data_bytes)) {
    return bad_input(fmt::format("npy: {} bytes of data, but shape ({}) of {} needs {}",
                                 *size < header.bytes ? 0 : *size - header.bytes, fmt::join(header.shape, ", "),
                                 name_of(header.dtype), header.data_bytes));
  }
  return header;
}

Expected<TensorView> read_npy(const Blob& file) {
  NpyHeader header = TRY(read_npy_header(file.bytes(), file.size()));
  auto strides = header.is_fortran_order ? column_major_strides(header.shape) : row_major_strides(header.shape);
  const auto data = file.part(header.bytes, header.data_bytes);
  if (!data) return bad_input("npy: the data are truncated");
  return make_tensor_view(header.dtype, std::move(header.shape), std::move(strides), 0, *data);
}

Expected<std::vector<std::byte>> write_npy(const TensorView& tensor) {
  const auto* const row = std::ranges::find(kTypes, tensor.dtype, &std::pair<std::string_view, DType>::second);
  if (row == std::end(kTypes)) {
    return fail(ErrorKind::kUnsupported, fmt::format("NumPy has no element type {}", name_of(tensor.dtype)));
  }
  // A tuple of one is written with a comma.
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 size_of(tensor.dtype) == 1 ? '|' : '<', row->first, fmt::join(tensor.sizes, ", "),
                                 tensor.sizes.size() == 1 ? "," : "");
  constexpr std::size_t kAlignment = 64;
  const std::size_t before_text = kMagic.size() + 4;
  const std::size_t total = (before_text + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  text.append(total - before_text - text.size() - 1, ' ');
  text += '\n';
  const Blob data = contiguous_bytes(tensor);
  const std::string start = fmt::format("{}\x01{}{}{}", kMagic, '\0', static_cast<char>(text.size() & 0xFF),
                                        static_cast<char>(text.size() >> 8));
  std::vector<std::byte> out(total + data.size());
  std::memcpy(out.data(), start.data(), start.size());
  std::memcpy(out.data() + start.size(), text.data(), text.size());
  std::ranges::copy(data.bytes(), out.begin() + static_cast<std::ptrdiff_t>(total));
  return out;
}

}  // namespace isthmus
