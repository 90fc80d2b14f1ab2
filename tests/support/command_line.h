// The binary as a user calls it, for tests.
#pragma once

#include <string>

#include "support/files.h"

namespace isthmus::test {

struct Finished {
  int code = -1;
  std::string out;
  std::string err;
};

class CommandLine : public FolderTest {
 protected:
  // Runs in the current folder, which is the project's.
  Finished isthmus(const std::string& arguments) const;
  // A program of examples/.
  Finished example(const std::string& name, const std::string& arguments) const;
  Finished run(const std::string& program) const;
  // What `run` takes to call the binary.
  std::string command(const std::string& arguments) const;

  // With a fault of tests/preload/faults.cc; the calls are counted in a file where one is named.
  Finished with_fault(const std::string& fault, const std::string& arguments, const std::string& counts = "") const;
  static bool can_have_faults();
};

}  // namespace isthmus::test
