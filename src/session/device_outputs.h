// Tensors that a device left while it ran a program: a folder of .npy files.
#pragma once

#include <string>

#include "base/diag.h"
#include "base/expected.h"
#include "fidelity/fidelity.h"
#include "program/anatomy/anatomy.h"

namespace isthmus {

// A file is named after a value of the program, with _ for each blank: "delegate_0_value_12.npy", "output_0.npy"; or
// it is the debug handle of the node that makes it: "17.npy". Elements are those of the value, or floats. Files of
// other names are said. Fails where no file is of a value.
Expected<fidelity::Dump> read_device_outputs(const std::string& folder, const anatomy::Graph& program,
                                             Diagnostics& diagnostics);

}  // namespace isthmus
