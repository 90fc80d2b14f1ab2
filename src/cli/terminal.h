// What the command line knows about the terminal it talks to.
#pragma once

#include <string_view>

#include "base/diag.h"
#include "base/expected.h"

namespace isthmus {

// A terminal on standard output, NO_COLOR unset and TERM not "dumb".
bool stdout_has_colour();

void print_error(const Error& error);
void print_diagnostics(const Diagnostics& diagnostics);

}  // namespace isthmus
