// Checks and quotes text that comes from files.
#include "base/untrusted_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace isthmus {
namespace {

struct Character {
  std::size_t length = 0;  // in bytes; 0 where they are not UTF-8
  std::uint32_t code_point = 0;
};

// Of a text that is not empty.
Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {1, lead};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (lead < 0xC2 || lead >= 0xF5 || length > text.size()) return {};
  std::uint32_t code_point = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) return {};
    code_point = code_point << 6 | (next & 0x3F);
  }
  constexpr std::uint32_t kMin[] = {0, 0, 0x80, 0x800, 0x10000};  // that needs this many bytes
  const bool is_surrogate = code_point >= 0xD800 && code_point < 0xE000;
  if (code_point < kMin[length] || code_point > 0x10FFFF || is_surrogate) return {};
  return {length, code_point};
}

// What must not reach a terminal.
struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
constexpr Range kUnfit[] = {
    {0x00, 0x1F},      // controls
    {0x7F, 0x9F},      // delete and further controls
    {0x61C, 0x61C},    // a mark of direction
    {0x200B, 0x200F},  // no width, and marks of direction
    {0x2028, 0x202E},  // ends of lines, embedded directions
    {0x2060, 0x206F},  // no width, isolated directions
    {0xFEFF, 0xFEFF},  // the byte order mark
};

bool is_fit(const Character& character) {
  const auto holds = [&](const Range& range) {
    return range.first <= character.code_point && character.code_point <= range.last;
  };
  return character.length != 0 && std::ranges::none_of(kUnfit, holds);
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Character character = first_character(text);
    if (character.length == 0) return false;
    text.remove_prefix(character.length);
  }
  return true;
}

std::string in_quotes(std::string_view text, char quote) {
  std::string result(1, quote);
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(character.length, 1));
    if (text[0] == quote || text[0] == '\\') {
      result += '\\';
      result += text[0];
    } else if (is_fit(character)) {
      result += bytes;
    } else {
      for (const char c : bytes) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    text.remove_prefix(bytes.size());
  }
  return result + quote;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMax = 120;
  if (text.size() <= kMax) return in_quotes(text);
  return fmt::format("{}... ({} bytes)", in_quotes(text.substr(0, kMax)), text.size());
}

std::string harmless(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(character.length, 1));
    if (is_fit(character) || text[0] == '\n') {
      result += bytes;
    } else {
      result += '?';
    }
    text.remove_prefix(bytes.size());
  }
  return result;
}

}  // namespace isthmus
