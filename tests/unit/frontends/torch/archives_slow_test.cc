// Every archive of the wider data loads, prints and reads back.
#include <gtest/gtest.h>

#include <iostream>

#include "ir/text.h"
#include "support/models.h"

namespace isthmus::archives_slow_test {
namespace {

TEST(Archives, EveryOneLoadsAndPrints) {
  if (!std::filesystem::exists(test::shared_dir())) GTEST_SKIP() << "the wider data is not here";
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::shared_dir())) {
    if (entry.path().extension() != ".pt2") continue;
    Diagnostics diagnostics;
    const auto model = test::open(entry.path(), diagnostics);
    ASSERT_TRUE(model.has_value()) << entry.path() << ": " << model.error().text();
    const std::string text = print(model->graph);
    const auto again = parse_graph(text);
    ASSERT_TRUE(again.has_value()) << entry.path() << ": " << again.error().text();
    EXPECT_EQ(print(*again), text) << entry.path();
    ++count;
  }
  std::cout << count << " archives load, print and read back\n";
  EXPECT_GT(count, 700u);
}

}  // namespace
}  // namespace isthmus::archives_slow_test
