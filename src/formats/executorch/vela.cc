// Reads vela's files and writes the stream.
#include "formats/executorch/vela.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <string>

#include "formats/npz.h"

namespace isthmus::vela {
namespace {

constexpr std::size_t kNameBytes = 16;
constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kAlignment = 16;

class NetworkReader {
 public:
  NetworkReader(Zip zip, Npz npz) : zip_(std::move(zip)), npz_(std::move(npz)) {}

  Expected<Network> run() {
    Network network;
    network.commands = TRY(raw("cmd_data"));
    network.weights = TRY(raw("weight_data"));
    const std::vector<std::int64_t> scratch = TRY(integers("scratch_shape"));
    if (scratch.empty() || scratch[0] < 0 || scratch[0] > std::numeric_limits<std::uint32_t>::max()) {
      return bad_input("scratch_shape is not a size");
    }
    network.scratch_bytes = static_cast<std::uint32_t>(scratch[0]);
    network.inputs = TRY(tensors("input"));
    network.outputs = TRY(tensors("output"));
    return network;
  }

 private:
  // Text without an axis, of which NumPy would drop the zeros at its end.
  Expected<Blob> raw(const std::string& name) {
    const ZipEntry* entry = zip_.find(name + ".npy");
    if (entry == nullptr) return bad_input("missing " + name);
    const Blob file = TRY(zip_.read(*entry));
    const std::uint64_t begin = TRY(npy_header_bytes(file.bytes()));
    const auto bytes = begin > file.size() ? std::nullopt : file.part(begin, file.size() - begin);
    if (!bytes) return bad_input(name + " is cut off");
    return *bytes;
  }
  Expected<std::vector<std::int64_t>> integers(const std::string& name) {
    const NpzArray* array = npz_.find(name);
    if (array == nullptr) return bad_input("missing " + name);
    if (array->unsupported) return tl::unexpected<Error>(*array->unsupported);
    if (array->dtype != DType::kI64 && array->dtype != DType::kI32) return bad_input(name + " holds no integers");
    const Blob bytes = contiguous_bytes(TRY(npz_.read(*array)));
    const std::size_t size = size_of(array->dtype);
    std::vector<std::int64_t> result(bytes.size() / size);
    for (std::size_t i = 0; i < result.size(); ++i) {
      const std::byte* from = bytes.bytes().data() + i * size;
      std::int32_t narrow = 0;
      if (size == sizeof(narrow)) {
        std::memcpy(&narrow, from, sizeof(narrow));
        result[i] = narrow;
      } else {
        std::memcpy(&result[i], from, sizeof(result[i]));
      }
      if (result[i] < std::numeric_limits<std::int32_t>::min() ||
          result[i] > std::numeric_limits<std::int32_t>::max()) {
        return bad_input(fmt::format("{} has the value {}", name, result[i]));
      }
    }
    return result;
  }
  Expected<std::vector<Tensor>> tensors(const std::string& prefix) {
    const auto shapes = TRY(integers(prefix + "_shape"));
    const auto element_bytes = TRY(integers(prefix + "_elem_size"));
    const auto offsets = TRY(integers(prefix + "_offset"));
    const auto regions = TRY(integers(prefix + "_region"));
    std::vector<Tensor> result(offsets.size());
    const std::size_t axes = Tensor().shape.size();
    if (shapes.size() != result.size() * axes || element_bytes.size() != result.size() ||
        regions.size() != result.size()) {
      return bad_input(fmt::format("the arrays of its {}s differ in length", prefix));
    }
    for (std::size_t i = 0; i < result.size(); ++i) {
      for (std::size_t axis = 0; axis < axes; ++axis) {
        result[i].shape[axis] = static_cast<std::int32_t>(shapes[i * axes + axis]);
      }
      result[i].element_bytes = static_cast<std::int32_t>(element_bytes[i]);
      result[i].offset = static_cast<std::int32_t>(offsets[i]);
      result[i].region = static_cast<std::int32_t>(regions[i]);
    }
    return result;
  }

  Zip zip_;
  Npz npz_;
};

class StreamWriter {
 public:
  Expected<void> block(std::string_view name, std::span<const std::byte> data) {
    if (data.size() > std::numeric_limits<std::uint32_t>::max()) {
      return fail(ErrorKind::kUnsupported, fmt::format("{} takes {} bytes", name, data.size()));
    }
    const std::size_t begin = bytes_.size();
    bytes_.resize(begin + kHeaderBytes);
    std::memcpy(bytes_.data() + begin, name.data(), std::min(name.size(), kNameBytes - 1));
    const auto size = static_cast<std::uint32_t>(data.size());
    std::memcpy(bytes_.data() + begin + kNameBytes, &size, sizeof(size));
    bytes_.insert(bytes_.end(), data.begin(), data.end());
    bytes_.resize((bytes_.size() + kAlignment - 1) / kAlignment * kAlignment);
    return {};
  }
  Expected<void> numbers(std::string_view name, const std::vector<std::int32_t>& numbers) {
    return block(name, std::as_bytes(std::span(numbers)));
  }
  Expected<void> tensors(std::string_view name, const std::vector<Tensor>& tensors) {
    std::vector<std::int32_t> all{static_cast<std::int32_t>(tensors.size())};
    for (const Tensor& tensor : tensors) {
      all.insert(all.end(), tensor.shape.begin(), tensor.shape.end());
      all.insert(all.end(), {tensor.element_bytes, tensor.offset, tensor.region});
    }
    return numbers(name, all);
  }

  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t comma = line.find(',');
    std::string_view cell = line.substr(0, comma);
    const auto is_space = [](char c) { return c == ' ' || c == '"' || c == '\r'; };
    while (!cell.empty() && is_space(cell.front())) cell.remove_prefix(1);
    while (!cell.empty() && is_space(cell.back())) cell.remove_suffix(1);
    cells.push_back(cell);
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace

std::int64_t Tensor::count() const {
  std::int64_t count = 1;
  for (const std::int32_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, std::int64_t{size}, &count)) return -1;
  }
  return count;
}

Expected<Network> read_network(const Blob& npz) {
  Zip zip = TRY(Zip::open(npz));
  Npz arrays = TRY(Npz::open(npz));
  return NetworkReader(std::move(zip), std::move(arrays)).run();
}

std::optional<std::uint64_t> scratch_bytes_of(const Blob& stream) {
  constexpr std::string_view kFirst = "vela_bin_stream";
  std::uint64_t at = 0;
  while (const auto header = stream.part(at, kHeaderBytes)) {
    const std::string_view text = header->text().substr(0, kNameBytes);
    const std::string_view name = text.substr(0, std::min(text.find('\0'), text.size()));
    if (at == 0 && name != kFirst) return std::nullopt;
    std::uint32_t size = 0;
    std::memcpy(&size, header->bytes().data() + kNameBytes, sizeof(size));
    const auto data = stream.part(at + kHeaderBytes, size);
    if (!data) return std::nullopt;
    if (name == "scratch_size" && size == sizeof(std::uint32_t)) {
      std::uint32_t bytes = 0;
      std::memcpy(&bytes, data->bytes().data(), sizeof(bytes));
      return bytes;
    }
    at = (at + kHeaderBytes + size + kAlignment - 1) / kAlignment * kAlignment;
  }
  return std::nullopt;
}

Expected<std::vector<std::byte>> write_stream(const Network& network) {
  const std::string_view commands = network.commands.text();
  if (!commands.starts_with("COP1") && !commands.starts_with("COP2")) {
    return bad_input("its command stream starts with neither COP1 nor COP2");
  }
  StreamWriter stream;
  TRY(stream.block("vela_bin_stream", {}));
  TRY(stream.block("cmd_data", network.commands.bytes()));
  TRY(stream.block("weight_data", network.weights.bytes()));
  TRY(stream.block("scratch_size", std::as_bytes(std::span(&network.scratch_bytes, 1))));
  TRY(stream.tensors("inputs", network.inputs));
  TRY(stream.tensors("outputs", network.outputs));
  TRY(stream.block("vela_end_stream", {}));
  return stream.take();
}

std::optional<Estimate> read_summary(std::string_view csv) {
  const std::size_t end = csv.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> names = cells_of(csv.substr(0, end));
  const std::string_view rest = csv.substr(end + 1);
  const std::vector<std::string_view> cells = cells_of(rest.substr(0, rest.find('\n')));
  if (names.size() != cells.size()) return std::nullopt;
  bool is_complete = true;
  const auto number = [&](std::string_view name) {
    double value = 0;
    const auto found = std::ranges::find(names, name);
    const std::string_view cell = found == names.end() ? "" : cells[static_cast<std::size_t>(found - names.begin())];
    const auto [stop, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (problem != std::errc() || stop != cell.data() + cell.size()) is_complete = false;
    return value;
  };
  const Estimate estimate{number("sram_memory_used"), number("dram_memory_used"),
                          number("on_chip_flash_memory_used") + number("off_chip_flash_memory_used"),
                          number("cycles_total"), number("inference_time")};
  return is_complete ? std::optional(estimate) : std::nullopt;
}

}  // namespace isthmus::vela
