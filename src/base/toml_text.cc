#include "base/toml_text.h"

#include <fmt/format.h>

#include <exception>

#include "base/untrusted_text.h"

namespace isthmus {

tl::unexpected<Error> wrong_line(const std::string& path, std::size_t line, std::string_view what) {
  return bad_input(fmt::format("{}:{}: {}", harmless(path), line, what));
}

Expected<toml::table> parse_toml(std::string_view text, const std::string& path) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
  if (text.size() > kMaxBytes) return bad_input(fmt::format("{}: larger than {} bytes", harmless(path), kMaxBytes));
  if (!is_utf8(text)) return bad_input(fmt::format("{}: not UTF-8", harmless(path)));
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    return wrong_line(path, error.source().begin.line, harmless(error.description()));
  } catch (const std::exception& error) {
    return bad_input(fmt::format("{}: {}", harmless(path), harmless(error.what())));
  }
}

}  // namespace isthmus
