// The op table as users see it.
#pragma once

#include <string>

namespace isthmus {

std::string op_table_text();
std::string op_table_json();

}  // namespace isthmus
