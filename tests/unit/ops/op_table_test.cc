// The op table as a whole: complete, unambiguous, and the only place that knows a frontend's names.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "interpret/kernel.h"
#include "ops/table.h"
#include "support/models.h"

namespace isthmus::op_table_test {
namespace {

TEST(OpTable, EveryOpHasARowAndAKernel) {
  for (std::size_t i = 1; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    EXPECT_EQ(def(op).op, op);
    EXPECT_NE(def(op).infer, nullptr) << name_of(op);
    EXPECT_LE(def(op).required, std::max<std::size_t>(def(op).roles.size(), 1)) << name_of(op);
    EXPECT_EQ(kernel_def(op).op, op);
    EXPECT_EQ(def(op).range.has_value(), def(op).flow == QFlow::kFixedRange) << name_of(op);
    EXPECT_EQ(op_from_name(name_of(op)), op);
  }
}

TEST(OpTable, SpellingsAreWellFormedWithoutInPlaceAndCopyForms) {
  const std::regex form("[a-z_]+\\.[A-Za-z0-9_]+(\\.[A-Za-z0-9_]+)?|onnx(\\.[A-Za-z0-9]+)+");
  const auto check = [&](const Spelling& spelling) {
    const std::string name(spelling.name);
    EXPECT_TRUE(std::regex_match(name, form)) << name;
    const std::string stem = name.substr(0, name.find('.', name.find('.') + 1));
    // A copying form needs no row of its own where it means the same as the plain one.
    if (stem.ends_with("_copy")) {
      const Spelling* plain = find_spelling(stem.substr(0, stem.size() - 5) + ".default").spelling;
      EXPECT_TRUE(plain == nullptr || plain->reader != spelling.reader || plain->aliasing != spelling.aliasing) << name;
    }
    EXPECT_FALSE(stem.ends_with("_") && !stem.ends_with("__")) << name;
    EXPECT_NE(spelling.reader, nullptr) << name;
  };
  for (const Family& family : families()) {
    for (const OpDef& row : family.ops) std::ranges::for_each(row.spellings, check);
    std::ranges::for_each(family.compounds, check);
  }
}

TEST(OpTable, EveryCapturedNameIsKnown) {
  std::ifstream list(test::source_dir() / "tests" / "models" / "captured_names.txt");
  std::size_t count = 0;
  for (std::string name; std::getline(list, name); ++count) {
    EXPECT_NE(find_spelling(name).spelling, nullptr) << name;
  }
  EXPECT_GT(count, 300u);
}

TEST(OpTable, InPlaceCopyingAndOverloads) {
  EXPECT_EQ(find_spelling("aten.relu_.default").spelling, find_spelling("aten.relu.default").spelling);
  EXPECT_TRUE(find_spelling("aten.relu_.default").is_in_place);
  EXPECT_FALSE(find_spelling("aten.relu.default").is_in_place);
  EXPECT_EQ(find_spelling("aten.permute_copy.default").spelling, find_spelling("aten.permute.default").spelling);
  EXPECT_EQ(find_spelling("aten.concat.names").spelling, find_spelling("aten.concat.default").spelling);
  EXPECT_NE(find_spelling("aten.max.dim").spelling, find_spelling("aten.max.default").spelling);
  EXPECT_FALSE(find_spelling("aten.__and__.Tensor").is_in_place);
  EXPECT_EQ(find_spelling("custom.relu.default").spelling, nullptr);
  EXPECT_EQ(find_spelling("").spelling, nullptr);
  EXPECT_EQ(find_spelling("_.").spelling, nullptr);
}

// A name of a frontend in an `if` elsewhere would be the defect that the table exists to prevent.
TEST(OpTable, NoOtherFolderNamesAFrontendsOperator) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::source_dir() / "src")) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".cc" && extension != ".h") continue;
    // Kernels of program files go by names of the same frontend; they stand in a table of their own.
    const std::string path = entry.path().lexically_relative(test::source_dir()).string();
    if (path.starts_with("src/ops/") || path.starts_with("src/targets/host/")) continue;
    std::ifstream file(entry.path());
    std::size_t number = 0;
    for (std::string line; std::getline(file, line);) {
      ++number;
      const std::size_t found = std::min(line.find("aten."), line.find("aten::"));
      const std::size_t comment = line.find("//");
      EXPECT_TRUE(found == std::string::npos || comment < found) << entry.path() << ":" << number << ": " << line;
    }
  }
}

}  // namespace
}  // namespace isthmus::op_table_test
