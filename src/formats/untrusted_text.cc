// Checks and quotes text that comes from files.
#include "formats/untrusted_text.h"

#include <fmt/format.h>

#include <cstdint>

namespace isthmus {
namespace {

// The length of the sequence that `lead` opens and the lowest code point that needs so many bytes.
struct Sequence {
  std::size_t length;
  std::uint32_t first_code_point;
};

Sequence sequence_of(unsigned char lead) {
  if (lead < 0x80) return {1, 0};
  if (lead >= 0xC2 && lead < 0xE0) return {2, 0x80};
  if (lead >= 0xE0 && lead < 0xF0) return {3, 0x800};
  if (lead >= 0xF0 && lead < 0xF5) return {4, 0x10000};
  return {0, 0};
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const Sequence sequence = sequence_of(lead);
    if (sequence.length == 0 || sequence.length > text.size() - at) return false;
    std::uint32_t code_point = sequence.length == 1 ? lead : lead & (0x7Fu >> sequence.length);
    for (std::size_t i = 1; i < sequence.length; ++i) {
      const auto next = static_cast<unsigned char>(text[at + i]);
      if ((next & 0xC0) != 0x80) return false;
      code_point = code_point << 6 | (next & 0x3F);
    }
    const bool is_surrogate = code_point >= 0xD800 && code_point < 0xE000;
    if (code_point < sequence.first_code_point || code_point > 0x10FFFF || is_surrogate) return false;
    at += sequence.length;
  }
  return true;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kMostShown = 120;
  if (text.size() <= kMostShown) return fmt::format("{:?}", text);
  return fmt::format("{:?}... ({} bytes)", text.substr(0, kMostShown), text.size());
}

std::string harmless(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    result += (byte < ' ' && c != '\n') || byte == 0x7f ? '?' : c;
  }
  return result;
}

}  // namespace isthmus
