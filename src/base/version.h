// Which Isthmus this is.
#pragma once

#include <string_view>

namespace isthmus {

std::string_view version();          // such as "0.1.0"
std::string_view commit();           // of the source, "unknown" where it was not a checkout
std::string_view xnnpack_version();  // of the library that it was built with

}  // namespace isthmus
