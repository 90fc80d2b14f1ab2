// Numbers, strings, small tensors and origins of the text form.
#include "ir/literals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/untrusted_text.h"

namespace isthmus {
namespace {

constexpr std::int64_t kMaxInlineElements = 8;

template <class Number>
std::string with_point(Number value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

template <class Number>
std::string element_text(Number value) {
  if constexpr (std::is_same_v<Number, bool>) return value ? "true" : "false";
  if constexpr (std::is_floating_point_v<Number>) return with_point(value);
  return fmt::format("{}", value);
}

template <class Number>
std::optional<Number> element_from_text(std::string_view text) {
  if constexpr (std::is_same_v<Number, bool>) {
    if (text == "true") return true;
    if (text == "false") return false;
    return std::nullopt;
  } else {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  }
}

// Calls `use` with a value of the C++ type behind an element type that can be written out; false for others.
template <class Use>
bool with_element_type(DType dtype, Use use) {
  switch (dtype) {
    case DType::kBool:
      use(bool{});
      return true;
    case DType::kU8:
      use(std::uint8_t{});
      return true;
    case DType::kI8:
      use(std::int8_t{});
      return true;
    case DType::kI16:
      use(std::int16_t{});
      return true;
    case DType::kI32:
      use(std::int32_t{});
      return true;
    case DType::kI64:
      use(std::int64_t{});
      return true;
    case DType::kF32:
      use(float{});
      return true;
    case DType::kF64:
      use(double{});
      return true;
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0FNU:
    case DType::kC32:
    case DType::kC64:
    case DType::kC128:
      return false;
  }
  return false;
}

// A bool is read as a byte: a file may hold others than 0 and 1.
template <class Number>
Number load_element(const std::byte* at) {
  if constexpr (std::is_same_v<Number, bool>) {
    return *at != std::byte{0};
  } else {
    Number value{};
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
}

bool is_plain_token(std::string_view token) {
  if (token.empty() || token == "-" || token == "in" || token.find(' ') != token.npos) return false;
  return in_quotes(token).size() == token.size() + 2;  // nothing to escape
}

std::string token_text(std::string_view token) {
  if (token.empty()) return "-";
  return is_plain_token(token) ? std::string(token) : in_quotes(token);
}

Expected<std::string> take_token(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  if (rest.starts_with('"')) return take_quoted(rest);
  const std::size_t length = std::min(rest.find(' '), rest.size());
  std::string token(rest.substr(0, length));
  rest.remove_prefix(length);
  return token == "-" ? std::string() : token;
}

}  // namespace

Expected<std::string> take_quoted(std::string_view& rest) {
  const auto unclosed = [] { return bad_input("a string without a closing quote"); };
  if (rest.empty() || (rest[0] != '"' && rest[0] != '\'')) return bad_input("expected a quoted string");
  const char quote = rest[0];
  std::string result;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == quote) {
      rest.remove_prefix(i + 1);
      return result;
    }
    if (rest[i] != '\\') {
      result += rest[i];
      continue;
    }
    if (++i >= rest.size()) return unclosed();
    if (rest[i] != 'x') {
      result += rest[i];
      continue;
    }
    unsigned code = 0;
    if (i + 2 >= rest.size()) return unclosed();
    const auto [end, error] = std::from_chars(rest.data() + i + 1, rest.data() + i + 3, code, 16);
    if (error != std::errc() || end != rest.data() + i + 3) return bad_input("expected two hex digits after \\x");
    result += static_cast<char>(static_cast<unsigned char>(code));
    i += 2;
  }
  return unclosed();
}

std::string float_text(double value) { return with_point(value); }
std::string float_text(float value) { return with_point(value); }

std::string inline_text(const TensorView& tensor) {
  if (tensor.element_count() > kMaxInlineElements) return {};
  const Blob bytes = contiguous_bytes(tensor);
  std::string text;
  bool is_exact = true;
  const bool is_known = with_element_type(tensor.dtype, [&]<class Number>(Number) {
    for (std::int64_t i = 0; i < tensor.element_count(); ++i) {
      const auto value =
          load_element<Number>(bytes.bytes().data() + static_cast<std::size_t>(i) * size_of(tensor.dtype));
      if constexpr (std::is_floating_point_v<Number>) is_exact = is_exact && !std::isnan(value);
      text += (i == 0 ? "" : ",") + element_text(value);
    }
  });
  if (!is_known || !is_exact) return {};
  return tensor.sizes.empty() ? text : "[" + text + "]";
}

Expected<TensorView> tensor_from_inline(DType dtype, const std::vector<std::int64_t>& sizes, std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  std::vector<std::byte> bytes;
  std::optional<std::string> wrong;
  const bool is_known = with_element_type(dtype, [&]<class Number>(Number) {
    while (!text.empty() && !wrong) {
      const std::size_t length = std::min(text.find(','), text.size());
      const auto value = element_from_text<Number>(text.substr(0, length));
      if (!value) wrong = std::string(text.substr(0, length));
      const auto raw = std::bit_cast<std::array<std::byte, sizeof(Number)>>(value.value_or(Number{}));
      bytes.insert(bytes.end(), raw.begin(), raw.end());
      text.remove_prefix(std::min(length + 1, text.size()));
    }
  });
  if (!is_known) return bad_input(fmt::format("elements of type {} cannot be written out", name_of(dtype)));
  if (wrong) return bad_input(fmt::format("'{}' is not of type {}", *wrong, name_of(dtype)));
  const std::size_t found = bytes.size() / size_of(dtype);
  auto view = TRY(make_tensor_view(dtype, sizes, row_major_strides(sizes), 0, Blob::owning(std::move(bytes))));
  if (static_cast<std::size_t>(view.element_count()) != found) {
    return bad_input(fmt::format("{} elements are written, {} expected", found, view.element_count()));
  }
  return view;
}

std::string origin_text(const Origin& origin) {
  std::string text = token_text(origin.source);
  if (!origin.call.empty()) text += " " + token_text(origin.call);
  if (!origin.module.empty()) text += " in " + token_text(origin.module);
  return text;
}

std::string node_text(const Graph& graph, const Node& node) {
  const auto* foreign = std::get_if<ForeignAttrs>(&node.attrs);
  const std::string name = node.outputs.empty() ? "" : " %" + graph[node.outputs[0]].name;
  return fmt::format("{}{}{}", foreign == nullptr ? name_of(node.op) : foreign->target, name,
                     origin_suffix(node.origin));
}

std::string origin_suffix(const Origin& origin) { return origin.empty() ? "" : " (" + origin_text(origin) + ")"; }

Expected<Origin> origin_from_text(std::string_view text) {
  Origin origin;
  origin.source = TRY(take_token(text));
  if (!text.empty() && !text.starts_with(" in ")) origin.call = TRY(take_token(text));
  if (text.starts_with(" in ")) {
    text.remove_prefix(4);
    origin.module = TRY(take_token(text));
  }
  if (!text.empty()) return bad_input(fmt::format("unexpected '{}' after the origin", text));
  return origin;
}

bool is_reserved_word(std::string_view word) {
  constexpr std::array<std::string_view, 10> kWords{"none", "true", "false",    "inf",    "nan",
                                                    "max",  "min",  "floordiv", "opaque", "complex"};
  return std::ranges::find(kWords, word) != kWords.end() || dtype_from_name(word).has_value();
}

bool is_symbol_name(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || name.size() > 64 || !is_letter(name[0]) || is_reserved_word(name)) return false;
  return std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace isthmus
