// The driver: each stage runs once, whatever is asked of the session.
#include "session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "ir/text.h"
#include "support/models.h"
#include "targets/registry.h"

namespace isthmus::session_test {
namespace {

using Counts = std::map<std::string, std::map<std::string, int>>;  // by what it was run for, by stage

Counts counts_of(const Session& session) {
  Counts counts;
  for (const StageTime& time : session.times()) ++counts[time.of][time.name];
  return counts;
}

Counts compiled(const std::string& target, const std::string& calibration, bool is_float = false) {
  const auto folder = test::source_dir() / "tests/models/fmnist";
  auto model = open_model((folder / "cnn.pt2").string());
  EXPECT_TRUE(model) << model.error().text();
  SessionOptions options;
  options.prepare.target = find_target(target);
  options.is_float = is_float;
  options.threads = 1;
  if (!calibration.empty()) options.data.path = (folder / calibration).string();
  auto session = Session::create(std::make_shared<const OpenModel>(*std::move(model)), std::move(options));
  EXPECT_TRUE(session) << session.error().text();
  const auto placed = session->place(WithData::kYes);
  EXPECT_TRUE(placed) << placed.error().text();
  const auto done = session->compile();
  EXPECT_TRUE(done) << done.error().text();
  return counts_of(*session);
}

void expect_once(const Counts& counts, const std::string& of, const std::set<std::string>& stages) {
  ASSERT_TRUE(counts.contains(of)) << of;
  for (const auto& [stage, count] : counts.at(of)) EXPECT_EQ(count, 1) << stage << " of " << of;
  for (const std::string& stage : stages) EXPECT_TRUE(counts.at(of).contains(stage)) << stage << " of " << of;
}

TEST(Session, EachStageRunsOnceForTheResult) {
  for (const char* target : {"xnnpack", "tosa-int"}) {
    const Counts counts = compiled(target, "calib_32.npz");
    expect_once(counts, "",
                {"load", "shapes", "canonicalize", "legalize", "calibrate", "plan", "quantize", "prove", "partition",
                 "lower", "emit", "try"});
    expect_once(counts, "float reference", {"partition", "lower", "emit", "try"});
    EXPECT_GT(counts.size(), 3U) << "the gate compares configurations";
    for (const auto& [of, stages] : counts) {
      for (const auto& [stage, count] : stages) EXPECT_EQ(count, 1) << stage << " of " << of;
    }
  }
}

TEST(Session, WithoutQuantizationThereIsOnePartition) {
  const Counts counts = compiled("xnnpack", "", true);
  expect_once(counts, "", {"load", "legalize", "partition", "lower", "emit", "try"});
  EXPECT_EQ(counts.size(), 1U);
}

// check, explain and compile end with the same error.
TEST(Session, EveryCommandReportsTrainingMode) {
  auto graph = parse_graph(R"(graph
  input %x : f32[2,4]
  input %m : f32[4]
  input %v : f32[4]
  %y = foreign("aten.batch_norm.default", input=%x, running_mean=%m, running_var=%v, training=true, momentum=0.1, eps=1e-05, cudnn_enabled=true) : f32[2,4]
  return %y
)");
  ASSERT_TRUE(graph) << graph.error().text();
  OpenModel opened;
  opened.path = "m.pt2";
  opened.model.graph = *std::move(graph);
  opened.model.examples.resize(3);
  const auto model = std::make_shared<const OpenModel>(std::move(opened));
  for (const WithData with_data : {WithData::kNo, WithData::kYes}) {
    SessionOptions options;
    options.prepare.target = find_target("xnnpack");
    auto session = Session::create(model, options);
    ASSERT_TRUE(session) << session.error().text();
    auto done = session->place(with_data);
    if (done) done = session->demand_runnable();
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().text(),
                testing::AllOf(testing::HasSubstr("the model was exported in training mode (batch norm"),
                               testing::HasSubstr("call model.eval() before torch.export.export"),
                               testing::HasSubstr("in m.pt2")));
  }
}

TEST(Stages, NamesAreUniqueAndInOrder) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < stages().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(stages()[i].stage), i);
    EXPECT_TRUE(names.insert(stages()[i].name).second) << stages()[i].name;
    EXPECT_FALSE(stages()[i].what.empty());
    EXPECT_EQ(find_stage(stages()[i].name).has_value(), stages()[i].has_graph);
  }
}

}  // namespace
}  // namespace isthmus::session_test
