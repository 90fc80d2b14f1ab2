// TOML from users: quant.toml, plans of sweeps.
#pragma once

#include <toml++/toml.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/expected.h"

namespace isthmus {

// At most a megabyte of UTF-8: far beyond real files. `path` is for messages.
Expected<toml::table> parse_toml(std::string_view text, const std::string& path);

// "path:line: what".
tl::unexpected<Error> wrong_line(const std::string& path, std::size_t line, std::string_view what);

}  // namespace isthmus
