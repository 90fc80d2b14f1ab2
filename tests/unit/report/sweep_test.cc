// Fronts, and the files of points.
#include "report/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace isthmus::sweep_report_test {
namespace {

using testing::HasSubstr;

SweepRow row(double db, std::uint64_t bytes, double ms, const std::string& target = "xnnpack") {
  SweepFigures figures;
  figures.sqnr_db = db;
  figures.bytes = bytes;
  figures.ms = ms;
  return {.point = "p", .model = "m", .target = target, .configuration = "c", .program = "p.pte", .figures = figures};
}

std::vector<bool> front_of(std::vector<SweepRow> rows) {
  mark_front(rows);
  std::vector<bool> marks;
  for (const SweepRow& one : rows) marks.push_back(one.is_on_front);
  return marks;
}

TEST(SweepFront, HasThePointsThatNoOtherBeats) {
  using Marks = std::vector<bool>;
  EXPECT_EQ(front_of({row(40, 100, 1), row(30, 50, 1), row(30, 60, 1)}), (Marks{true, true, false}));
  EXPECT_EQ(front_of({row(40, 100, 1), row(40, 100, 1)}), (Marks{true, true}));              // alike
  EXPECT_EQ(front_of({row(40, 100, 1), row(39, 100, 0.97)}), (Marks{true, false}));          // within the noise
  EXPECT_EQ(front_of({row(40, 100, 1), row(39, 100, 0.9)}), (Marks{true, true}));            // faster
  EXPECT_EQ(front_of({row(40, 100, 1), row(39, 100, 2, "tosa-int")}), (Marks{true, true}));  // of its own target
}

TEST(SweepFront, ClassesCountBeforeNoise) {
  std::vector<SweepRow> rows{row(40, 100, 1), row(30, 100, 1)};
  rows[0].figures->top1 = 0.8;
  rows[1].figures->top1 = 0.9;
  EXPECT_EQ(front_of(rows), (std::vector<bool>{false, true}));
}

TEST(SweepFront, APointThatFailedIsNeverOnIt) {
  std::vector<SweepRow> rows{row(40, 100, 1), row(0, 0, 0)};
  rows[1].figures = bad_input("no");
  EXPECT_EQ(front_of(rows), (std::vector<bool>{true, false}));
}

// Whatever the figures are, some point is on the front, and each other is beaten by one that is.
TEST(SweepFront, IsNeverEmpty) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<SweepRow> rows;
    for (int i = 0; i < 12; ++i) {
      rows.push_back(
          row(static_cast<double>(random() % 4), random() % 4, 1 + 0.03 * static_cast<double>(random() % 6)));
    }
    const std::vector<bool> marks = front_of(rows);
    EXPECT_NE(std::ranges::count(marks, true), 0);
  }
}

TEST(SweepRecord, AFileGivesItBack) {
  SweepFigures figures;
  figures.samples = 500;
  figures.top1 = 0.875;
  figures.sqnr_db = 41.25;
  figures.nodes = 18;
  figures.delegated_nodes = 17;
  figures.delegates = 1;
  figures.bytes = 35532;
  figures.cycles = 126000;
  figures.cycles_source = "estimate";
  figures.seconds = 1.5;
  const auto through = [](const SweepRecord& record) {
    const std::string text = write_record(record);
    const auto bytes = std::as_bytes(std::span(text));
    return read_record(Blob::owning({bytes.begin(), bytes.end()}));
  };
  const auto read = through({"key", figures});
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->key, "key");
  EXPECT_EQ(*read->figures, figures);
  Expected<SweepFigures> failed = bad_input("it is \"wrong\"\nin two lines");
  failed.error().places.emplace_back("model.pt2");
  const auto error = through({"other", failed});
  ASSERT_TRUE(error) << error.error().text();
  ASSERT_FALSE(error->figures);
  EXPECT_EQ(error->figures.error().text(), failed.error().text());
}

TEST(SweepRecord, DamagedFilesAreRefused) {
  const std::string good = write_record({"key", SweepFigures{}});
  for (std::size_t size = 0; size + 2 < good.size(); ++size) {
    const auto bytes = std::as_bytes(std::span(good).first(size));
    EXPECT_FALSE(read_record(Blob::owning({bytes.begin(), bytes.end()}))) << size;
  }
  for (const char* text : {"[]", "{}", R"({"key":1})", R"({"key":"k","figures":{}})", R"({"key":"k","error":{}})",
                           R"({"key":"k","figures":{"samples":-1}})"}) {
    const auto bytes = std::as_bytes(std::span(std::string_view(text)));
    EXPECT_FALSE(read_record(Blob::owning({bytes.begin(), bytes.end()}))) << text;
  }
}

TEST(SweepText, CsvQuotesWhatNeedsIt) {
  SweepSummary summary{"plan.toml", "out", {row(40, 100, 1)}};
  summary.rows[0].figures = bad_input("a, \"b\"");
  EXPECT_THAT(to_csv(summary), HasSubstr("\"a, \"\"b\"\"\"\n"));
  EXPECT_THAT(to_text(summary), HasSubstr("failed: a, \"b\""));
}

}  // namespace
}  // namespace isthmus::sweep_report_test
