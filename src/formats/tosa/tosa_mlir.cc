// Writes a TOSA graph in the text form of MLIR's `tosa` dialect: operators in the generic form, which names every
// attribute and is parsed by any build of the dialect from version 1.0 on.
#include "formats/tosa/tosa_mlir.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <unordered_set>

namespace isthmus::tosa {
namespace {

// Constants of more elements than this are written as their bytes.
constexpr std::size_t kMaxNumbers = 32;

enum class Kind : std::uint8_t { kInteger, kBool, kFloat, kShape };
struct MlirType {
  Type type;
  std::string_view name;
  Kind kind;
};
constexpr MlirType kMlirTypes[] = {
    {Type::kBool, "i1", Kind::kBool},          {Type::kI4, "i4", Kind::kInteger},
    {Type::kI8, "i8", Kind::kInteger},         {Type::kI16, "i16", Kind::kInteger},
    {Type::kI32, "i32", Kind::kInteger},       {Type::kI48, "i48", Kind::kInteger},
    {Type::kF32, "f32", Kind::kFloat},         {Type::kF16, "f16", Kind::kFloat},
    {Type::kBF16, "bf16", Kind::kFloat},       {Type::kShape, "index", Kind::kShape},
    {Type::kF8E4M3, "f8E4M3FN", Kind::kFloat}, {Type::kF8E5M2, "f8E5M2", Kind::kFloat},
    {Type::kUnknown, "none", Kind::kInteger},
};
const MlirType& mlir_type(Type type) { return *std::ranges::find(kMlirTypes, type, &MlirType::type); }

std::string tensor_of(Type type, std::span<const std::int32_t> shape) {
  std::string sizes;
  for (const std::int32_t size : shape) sizes += fmt::format("{}x", size);
  return fmt::format("tensor<{}{}>", sizes, mlir_type(type).name);
}
std::string type_of(const Value& value) {
  return value.type == Type::kShape ? fmt::format("!tosa.shape<{}>", value.shape[0])
                                    : tensor_of(value.type, value.shape);
}

// The bits of an element, the sign not yet spread.
std::uint64_t bits_at(std::span<const std::byte> bytes, std::uint32_t width, std::size_t index) {
  if (width < 8) {
    const std::size_t first = index * width;
    return (std::to_integer<std::uint64_t>(bytes[first / 8]) >> (first % 8)) & ((1U << width) - 1);
  }
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < width / 8; ++i) {
    bits |= std::to_integer<std::uint64_t>(bytes[index * (width / 8) + i]) << (8 * i);
  }
  return bits;
}
std::string element_text(Type type, std::span<const std::byte> bytes, std::size_t index) {
  const std::uint32_t width = bits_of(type);
  const std::uint64_t bits = bits_at(bytes, width, index);
  switch (mlir_type(type).kind) {
    case Kind::kBool:
      return bits != 0 ? "true" : "false";
    case Kind::kFloat:
      return fmt::format("0x{:0{}X}", bits, width / 4);
    case Kind::kInteger:
    case Kind::kShape:
      break;
  }
  const std::uint32_t above = 64 - width;
  return fmt::format("{}", static_cast<std::int64_t>(bits << above) >> above);
}

// Lists in lists, as deep as the tensor has axes.
std::string nested(std::span<const std::string> elements, std::span<const std::int32_t> shape) {
  if (shape.empty()) return elements[0];
  const std::size_t count = static_cast<std::size_t>(shape[0]);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = elements.size() / count;
    parts.push_back(nested(elements.subspan(i * size, size), shape.subspan(1)));
  }
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}
// MLIR keeps elements below a byte in ways of its own.
bool is_written_as_bytes(Type type) { return bits_of(type) >= 8 && mlir_type(type).kind != Kind::kBool; }

std::string elements_of(const Value& value) {
  const std::span<const std::byte> bytes = value.data.bytes();
  std::size_t count = 1;
  for (const std::int32_t size : value.shape) count *= static_cast<std::size_t>(size);
  if (count == 0) return "dense<>";
  const std::string first = element_text(value.type, bytes, 0);
  const auto same = [&](std::size_t index) {
    const std::uint32_t width = bits_of(value.type);
    return bits_at(bytes, width, index) == bits_at(bytes, width, 0);
  };
  std::size_t equal = 1;
  while (equal < count && same(equal)) ++equal;
  if (equal == count && count > 1) return fmt::format("dense<{}>", first);
  if (count > kMaxNumbers && is_written_as_bytes(value.type)) return fmt::format("dense<\"0x{}\">", hex(bytes));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) texts.push_back(element_text(value.type, bytes, i));
  return fmt::format("dense<{}>", nested(texts, value.shape));
}

std::string_view text_of(NanPropagation mode) { return mode == NanPropagation::kIgnore ? "IGNORE" : "PROPAGATE"; }
std::string_view text_of(ResizeMode mode) { return mode == ResizeMode::kBilinear ? "BILINEAR" : "NEAREST_NEIGHBOR"; }
std::string_view text_of(Rounding mode) {
  switch (mode) {
    case Rounding::kInexact:
      return "INEXACT_ROUND";
    case Rounding::kDouble:
      return "DOUBLE_ROUND";
    case Rounding::kUnknown:
    case Rounding::kSingle:
      break;
  }
  return "SINGLE_ROUND";
}

// The attributes of an operator by the names that the dialect gives them.
class Attributes {
 public:
  explicit Attributes(Type of_input) : type_(of_input) {}

  std::string text() const { return list_.empty() ? "" : fmt::format(" <{{{}}}>", fmt::join(list_, ", ")); }

  void operator()(const Nothing&) {}
  void operator()(const NotRead&) {}
  void operator()(const Axis& f) { axis(f.axis); }
  void operator()(const AxisNan& f) {
    axis(f.axis);
    nan(f.nan_mode);
  }
  void operator()(const NanMode& f) { nan(f.nan_mode); }
  void operator()(const AvgPool& f) {
    add("acc_type", mlir_type(f.acc_type).name);
    window(f.kernel, f.stride, f.pad);
  }
  void operator()(const MaxPool& f) {
    window(f.kernel, f.stride, f.pad);
    nan(f.nan_mode);
  }
  void operator()(const Conv& f) {
    sums(f.acc_type, f.local_bound);
    numbers("pad", "i64", f.pad);
    numbers("stride", "i64", f.stride);
    numbers("dilation", "i64", f.dilation);
  }
  void operator()(const TransposeConv& f) {
    sums(f.acc_type, f.local_bound);
    numbers("out_pad", "i64", f.out_pad);
    numbers("stride", "i64", f.stride);
  }
  void operator()(const Clamp& f) {
    bound("min_val", f.min);
    bound("max_val", f.max);
    nan(f.nan_mode);
  }
  void operator()(const RightShift& f) { flag("round", f.round); }
  void operator()(const Transpose& f) { numbers("perms", "i32", f.perms); }
  void operator()(const Resize& f) { add("mode", fmt::format("#tosa.resize_mode<{}>", text_of(f.mode))); }
  void operator()(const Rescale& f) {
    flag("scale32", f.scale32);
    add("rounding_mode", fmt::format("#tosa.rounding_mode<{}>", text_of(f.rounding)));
    flag("per_channel", f.per_channel);
    flag("input_unsigned", f.input_unsigned);
    flag("output_unsigned", f.output_unsigned);
  }

  void add(std::string_view name, std::string_view value) { list_.push_back(fmt::format("{} = {}", name, value)); }

 private:
  void flag(std::string_view name, bool value) { add(name, value ? "true" : "false"); }
  void axis(std::int32_t value) { add("axis", fmt::format("{} : i32", value)); }
  void nan(NanPropagation mode) { add("nan_mode", fmt::format("#tosa.nan_mode<{}>", text_of(mode))); }
  void numbers(std::string_view name, std::string_view type, std::span<const std::int32_t> values) {
    add(name, fmt::format("array<{}{}{}>", type, values.empty() ? "" : ": ", fmt::join(values, ", ")));
  }
  void sums(Type type, bool local_bound) {
    add("acc_type", mlir_type(type).name);
    flag("local_bound", local_bound);
  }
  void window(std::span<const std::int32_t> kernel, std::span<const std::int32_t> stride,
              std::span<const std::int32_t> pad) {
    numbers("kernel", "i64", kernel);
    numbers("stride", "i64", stride);
    numbers("pad", "i64", pad);
  }
  // In the clamped tensor's type; a file may have fewer bytes than that.
  void bound(std::string_view name, std::vector<std::byte> bytes) {
    bytes.resize(std::max<std::size_t>(bytes.size(), (bits_of(type_) + 7) / 8));
    add(name, fmt::format("{} : {}", element_text(type_, bytes, 0), mlir_type(type_).name));
  }

  Type type_;
  std::vector<std::string> list_;
};

// The graph's own names where MLIR can have them, with a number behind where that makes two alike.
std::vector<std::string> names_of(const Graph& graph) {
  std::vector<std::string> names;
  std::unordered_set<std::string> taken;
  for (const Value& value : graph.values) {
    std::string name = "%";
    for (const char c : value.name) {
      const auto byte = static_cast<unsigned char>(c);
      name += byte < 128 && (std::isalnum(byte) != 0 || c == '_' || c == '.' || c == '$') ? c : '_';
    }
    if (name.size() == 1 || std::isdigit(static_cast<unsigned char>(name[1])) != 0) name.insert(1, "_");
    const std::string stem = name;
    for (std::size_t i = names.size(); !taken.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
    names.push_back(std::move(name));
  }
  return names;
}

// In quotes, with the escapes that MLIR reads: two hexadecimal digits behind a backslash.
std::string location_text(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte >= 32 && byte < 127 && c != '"' && c != '\\';
    quoted += is_plain ? std::string(1, c) : fmt::format("\\{:02X}", byte);
  }
  return text.empty() ? "" : fmt::format(" loc(\"{}\")", quoted);
}

std::string mnemonic(Op op) {
  std::string name(name_of(op));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

std::string operator_text(const Graph& graph, const std::vector<std::string>& names, const Operator& op) {
  std::vector<std::string_view> inputs;
  std::vector<std::string> types;
  for (const ValueIndex index : op.inputs) {
    inputs.push_back(names[index]);
    types.push_back(type_of(graph.values[index]));
  }
  const Value& result = graph.values[op.outputs[0]];
  Attributes attributes(result.type);
  std::visit(attributes, op.fields);
  if (op.inputs.empty()) {
    attributes.add("values", fmt::format("{} : {}", elements_of(result), tensor_of(result.type, result.shape)));
  }
  return fmt::format("    {} = \"tosa.{}\"({}){} : ({}) -> {}{}\n", names[op.outputs[0]], mnemonic(op.op),
                     fmt::join(inputs, ", "), attributes.text(), fmt::join(types, ", "), type_of(result),
                     location_text(op.location));
}

}  // namespace

std::string to_mlir(const Graph& graph) {
  const std::vector<std::string> names = names_of(graph);
  std::vector<std::string> parameters, results, result_types;
  for (const ValueIndex index : graph.inputs) {
    parameters.push_back(fmt::format("{}: {}", names[index], type_of(graph.values[index])));
  }
  for (const ValueIndex index : graph.outputs) {
    results.push_back(names[index]);
    result_types.push_back(type_of(graph.values[index]));
  }
  std::string text = fmt::format("module {{\n  func.func @main({}) -> ({}) {{\n", fmt::join(parameters, ", "),
                                 fmt::join(result_types, ", "));
  for (const Operator& op : graph.operators) text += operator_text(graph, names, op);
  text += results.empty()
              ? "    return\n"
              : fmt::format("    return {} : {}\n", fmt::join(results, ", "), fmt::join(result_types, ", "));
  return text + "  }\n}\n";
}

}  // namespace isthmus::tosa
