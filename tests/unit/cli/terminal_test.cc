// How long a bar says that the rest takes.
#include "cli/terminal.h"

#include <gtest/gtest.h>

namespace isthmus::terminal_test {
namespace {

TEST(ProgressBar, SaysHowLongTheRestTakes) {
  EXPECT_EQ(time_left(0.5, 10), "10 s left");
  EXPECT_EQ(time_left(0.1, 10), "1:30 min left");
  EXPECT_EQ(time_left(0.25, 41.6), "2:05 min left");
}

TEST(ProgressBar, SaysNothingBeforeItKnows) {
  EXPECT_EQ(time_left(0, 100), "");
  EXPECT_EQ(time_left(0.5, 0.3), "");
  EXPECT_EQ(time_left(1, 100), "");
}

}  // namespace
}  // namespace isthmus::terminal_test
