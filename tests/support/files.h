// Files that tests write and read back.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace isthmus::test {

std::string contents(const std::filesystem::path& path);  // empty where it cannot be read

// A test with a folder of its own, which goes when the test ends.
class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Makes the folders of the name, too; returns the whole path.
  std::string write(const std::string& name, const std::string& bytes) const;

  std::filesystem::path folder_;
};

}  // namespace isthmus::test
