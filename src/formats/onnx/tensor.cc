// Tensors of ONNX files: raw bytes, lists of numbers, other files.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/onnx_dtype.h"
#include "formats/onnx/parts.h"

namespace isthmus::onnx {
namespace {

// The fields of a TensorProto, before it is known which of them hold the data.
struct Fields {
  std::int64_t data_type = 0;
  std::vector<std::int64_t> dims;
  std::optional<protozero::data_view> raw;
  std::vector<protozero::data_view> floats;   // float_data: packed bytes as they are
  std::vector<protozero::data_view> doubles;  // double_data
  std::vector<std::int64_t> integers;         // int32_data, int64_data, uint64_data
  std::map<std::string, std::string> external;
  bool is_external = false;
  bool has_segment = false;
};

Blob part_of(const Source& source, protozero::data_view view) {
  const auto* start = reinterpret_cast<const char*>(source.file.bytes().data());
  const auto part = source.file.part(static_cast<std::uint64_t>(view.data() - start), view.size());
  return part.value_or(Blob());
}

// A list of fixed-size numbers: one packed run is a view, several become a copy.
Blob joined(const Source& source, const std::vector<protozero::data_view>& runs) {
  if (runs.size() == 1) return part_of(source, runs.front());
  std::vector<std::byte> bytes;
  for (const protozero::data_view& run : runs) {
    const auto* start = reinterpret_cast<const std::byte*>(run.data());
    bytes.insert(bytes.end(), start, start + run.size());
  }
  return Blob::owning(std::move(bytes));
}

// Numbers written as integers, each cut to the element's bytes: f16 and bf16 are written as their bits.
Blob narrowed(const std::vector<std::int64_t>& numbers, std::size_t size) {
  std::vector<std::byte> bytes(numbers.size() * size);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto bits = static_cast<std::uint64_t>(numbers[i]);
    for (std::size_t b = 0; b < size; ++b) bytes[i * size + b] = static_cast<std::byte>(bits >> (8 * b));
  }
  return Blob::owning(std::move(bytes));
}

Expected<std::uint64_t> number_in(const Fields& fields, const std::string& key, std::uint64_t otherwise) {
  const auto found = fields.external.find(key);
  if (found == fields.external.end()) return otherwise;
  std::uint64_t number = 0;
  const char* const end = found->second.data() + found->second.size();
  const auto [stop, error] = std::from_chars(found->second.data(), end, number);
  if (error == std::errc() && stop == end) return number;
  return bad_input(fmt::format("external data: {} is {}, expected a number", key, shown(found->second)));
}

Expected<Blob> external_bytes(const Fields& fields, const Source& source, std::uint64_t expected) {
  const auto location = fields.external.find("location");
  if (location == fields.external.end()) return bad_input("its data is in another file, which is not named");
  const Blob file = TRY(source.external(location->second));
  const std::uint64_t offset = TRY(number_in(fields, "offset", 0));
  const std::uint64_t length = TRY(number_in(fields, "length", expected));
  const auto part = file.part(offset, length);
  if (part) return *part;
  return bad_input(fmt::format("external data: {} bytes at {} are past the end of {} ({} bytes)", length, offset,
                               shown(location->second), file.size()));
}

Expected<TensorView> view_of(const Fields& fields, const Source& source) {
  const DType dtype = TRY(dtype_from_onnx(fields.data_type));
  if (fields.has_segment) return fail(ErrorKind::kUnsupported, "a tensor in segments");
  std::uint64_t bytes = size_of(dtype);
  for (const std::int64_t dim : fields.dims) {
    if (dim < 0) return bad_input(fmt::format("a size is {}", dim));
    const auto product = multiply_sizes(bytes, static_cast<std::uint64_t>(dim));
    if (!product) return bad_input("a tensor with too many elements");
    bytes = *product;
  }
  Blob data;
  if (fields.is_external) {
    data = TRY(external_bytes(fields, source, bytes));
  } else if (fields.raw) {
    data = part_of(source, *fields.raw);
  } else if (!fields.floats.empty()) {
    if (dtype != DType::kF32 && dtype != DType::kC64) return bad_input("float_data of a tensor of another type");
    data = joined(source, fields.floats);
  } else if (!fields.doubles.empty()) {
    if (dtype != DType::kF64 && dtype != DType::kC128) return bad_input("double_data of a tensor of another type");
    data = joined(source, fields.doubles);
  } else if (!fields.integers.empty()) {
    if (dtype == DType::kF32 || dtype == DType::kF64 || is_complex(dtype)) {
      return bad_input("integer data in a tensor of floats");
    }
    data = narrowed(fields.integers, size_of(dtype));
  }
  if (data.size() != bytes) {
    return bad_input(fmt::format("it has {} bytes of data, but its type and shape need {}", data.size(), bytes));
  }
  std::vector<std::int64_t> strides = row_major_strides(fields.dims);
  return make_tensor_view(dtype, fields.dims, std::move(strides), 0, std::move(data));
}

void append_packed(protozero::pbf_reader& message, std::vector<protozero::data_view>& runs, std::size_t size) {
  if (message.wire_type() == protozero::pbf_wire_type::length_delimited) {
    runs.push_back(message.get_view());
    return;
  }
  // One number that stands alone: its bytes are the last ones read.
  message.skip();
  runs.emplace_back(message.data().data() - size, size);
}

}  // namespace

Expected<Tensor> read_tensor(protozero::pbf_reader message, Source& source) {
  TRY(count_item(source));
  Tensor tensor;
  Fields fields;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        append_integers(message, fields.dims);
        break;
      case 2:
        fields.data_type = message.get_int32();
        break;
      case 3:
        fields.has_segment = true;
        message.skip();
        break;
      case 4:
        append_packed(message, fields.floats, sizeof(float));
        break;
      case 5:
      case 7:
      case 11:
        append_integers(message, fields.integers);
        break;
      case 8:
        tensor.name = text_of(message.get_view());
        break;
      case 9:
        fields.raw = message.get_view();
        break;
      case 10:
        append_packed(message, fields.doubles, sizeof(double));
        break;
      case 13: {
        protozero::pbf_reader entry = message.get_message();
        std::string key;
        std::string value;
        while (entry.next()) {
          if (entry.tag() == 1) {
            key = text_of(entry.get_view());
          } else if (entry.tag() == 2) {
            value = text_of(entry.get_view());
          } else {
            entry.skip();
          }
        }
        fields.external[key] = value;
        break;
      }
      case 14:
        fields.is_external = message.get_int32() == 1;
        break;
      default:
        message.skip();
    }
  }
  constexpr std::size_t kMaxRank = 64;
  if (fields.dims.size() > kMaxRank) return bad_input(fmt::format("a tensor of rank {}", fields.dims.size()));
  tensor.data = within(view_of(fields, source), [&] { return "tensor " + shown(tensor.name); });
  if (!tensor.data && tensor.data.error().kind != ErrorKind::kUnsupported) {
    return tl::unexpected<Error>(tensor.data.error());
  }
  return tensor;
}

ExternalFiles files_in(std::string folder) {
  auto mapped = std::make_shared<std::map<std::string, Blob>>();
  return [folder = std::move(folder), mapped](const std::string& location) -> Expected<Blob> {
    namespace fs = std::filesystem;
    if (const auto found = mapped->find(location); found != mapped->end()) return found->second;
    const auto refused = [&](std::string_view why) {
      return bad_input(fmt::format("external data in {}: {}", shown(location), why));
    };
    const fs::path path(location);
    if (location.empty() || location.find('\0') != std::string::npos) return refused("not the name of a file");
    if (path.is_absolute()) return refused("an absolute path; external data must be in the folder of the model");
    std::error_code error;
    const fs::path root = fs::weakly_canonical(folder.empty() ? fs::path(".") : fs::path(folder), error);
    if (error) return refused(error.message());
    const fs::path full = fs::weakly_canonical(root / path, error);
    if (error) return refused(error.message());
    const auto [end, rest] = std::ranges::mismatch(root, full);
    if (end != root.end()) return refused("it is outside of the folder of the model");
    Blob blob = TRY(map_file(full.string()));
    mapped->emplace(location, blob);
    return blob;
  };
}

}  // namespace isthmus::onnx
