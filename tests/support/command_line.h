// The binary as a user calls it, for tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace isthmus::test {

struct Finished {
  int code = -1;
  std::string out;
  std::string err;
};

// Has a folder of its own for what commands write.
class CommandLine : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Runs in the current folder, which is the project's.
  Finished isthmus(const std::string& arguments) const;
  // A program of examples/.
  Finished example(const std::string& name, const std::string& arguments) const;
  Finished run(const std::string& program) const;

  std::filesystem::path folder_;
};

}  // namespace isthmus::test
