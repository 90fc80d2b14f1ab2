#include "support/files.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace isthmus::test {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void FolderTest::SetUp() {
  std::string pattern = (std::filesystem::temp_directory_path() / "isthmus-test-XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  folder_ = pattern;
}

void FolderTest::TearDown() {
  if (!folder_.empty()) std::filesystem::remove_all(folder_);
}

std::string FolderTest::write(const std::string& name, const std::string& bytes) const {
  const std::filesystem::path path = folder_ / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
  return path.string();
}

}  // namespace isthmus::test
