// The page of --report: what it shows, and that nothing in it is more than text.
#include "report/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "report/page/parts.h"
#include "session/session.h"
#include "support/models.h"
#include "targets/registry.h"

namespace isthmus::page_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kBegin = "<script type=\"application/json\" id=\"data\">";
constexpr std::string_view kEnd = "</script>";
const std::string kHostile = "</script><img src=x onerror=alert(1)><!--";

// What a browser reads as the data of a page.
std::string embedded(const std::string& page) {
  const std::size_t begin = page.find(kBegin) + kBegin.size();
  return page.substr(begin, page.find(kEnd, begin) - begin);
}

Json benign() {
  return {{"title", "model.pt2"},
          {"verdict", {{"grade", "good"}, {"headline", "All is well"}, {"reasons", {"one"}}}},
          {"figures", Json::array()},
          {"graph", {{"nodes", {{{"name", "conv"}}}}}}};
}

std::size_t count(const std::string& text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

struct Checked {
  Session session;
  CompileSummary summary;
  Json data;
};

Checked checked(const std::string& file, const char* target, WithData with_data) {
  const std::string path = test::source_dir() / "tests/models" / file;
  SessionOptions options;
  options.prepare.target = find_target(target);
  Session session = Session::create(std::make_shared<OpenModel>(open_model(path).value()), options).value();
  EXPECT_TRUE(session.place(with_data));
  CompileSummary summary = summarize(session);
  std::vector<ValueError> errors;
  if (with_data == WithData::kYes) {
    EXPECT_TRUE(session.compile());
    add_file(summary, "out.pte", session);
    errors = session.layer_errors().value();
  }
  Json data = page_data(summary, session, errors);
  return {std::move(session), std::move(summary), std::move(data)};
}

const Json& node_of(const Json& data, std::string_view name) {
  for (const Json& node : data["graph"]["nodes"]) {
    if (node["name"] == name) return node;
  }
  static const Json none;
  return none;
}

TEST(Page, IsOneDocumentThatLoadsNothing) {
  const std::string page = to_page(benign());
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, EndsWith("</html>\n"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
  EXPECT_THAT(page, Not(HasSubstr(" src=")));
  EXPECT_THAT(page, HasSubstr("Copyright (c) 2012-2014 Chris Pettitt"));  // of the layout library
  EXPECT_EQ(page, to_page(benign()));
}

TEST(Page, HostileNamesStayText) {
  Json data = benign();
  data["title"] = kHostile;
  data["verdict"]["headline"] = kHostile;
  data["verdict"]["reasons"][0] = kHostile;
  data["graph"]["nodes"][0]["name"] = kHostile + "\xff\u2028&amp;\"'";
  const std::string page = to_page(data);
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  for (const char* mark : {"</script", "<script", "<!--", "<"}) {
    EXPECT_EQ(count(page, mark), count(to_page(benign()), mark)) << mark;
  }
  const Json read = Json::parse(embedded(page));
  EXPECT_THAT(read["graph"]["nodes"][0]["name"].get<std::string>(), StartsWith(kHostile));
  EXPECT_EQ(read["title"], kHostile);
}

TEST(Page, ShowsWhatCheckKnowsWithoutData) {
  const Json data = checked("probes/odd.pt2", "xnnpack", WithData::kNo).data;
  EXPECT_EQ(data["kind"], "check");
  EXPECT_EQ(data["verdict"]["grade"], "good");
  EXPECT_THAT(data["verdict"]["headline"].get<std::string>(), HasSubstr("24 of 27 operators run on XNNPACK"));
  const Json& node = node_of(data, "embedding");
  ASSERT_TRUE(node.is_object());
  EXPECT_EQ(node["place"], -1);
  EXPECT_EQ(node["source"], "probes.py:24");
  EXPECT_EQ(node["causes"][0]["code"], "dtype");
  EXPECT_EQ(node["needs_fix"], false);
  EXPECT_FALSE(node.contains("histogram"));
  EXPECT_TRUE(data["memory"].is_object());
}

TEST(Page, ShowsParametersAndLossesAfterACompile) {
  const Checked model = checked("fmnist/cnn.pt2", "xnnpack", WithData::kYes);
  const Json& data = model.data;
  EXPECT_EQ(data["kind"], "compile");
  EXPECT_EQ(data["summary"], Json::parse(to_json(model.summary)));
  EXPECT_EQ(data["graph"]["nodes"].size(), model.session.graph().nodes().size());
  const Json& node = node_of(data, "concat");
  EXPECT_EQ(node["precision"], "int8");
  EXPECT_FALSE(node.contains("module"));
  EXPECT_EQ(node["quant"]["storage"], "i8");
  EXPECT_EQ(node["histogram"]["bins"].size(), 48);
  EXPECT_GT(node["error"]["db"], 10);
  const Json& group = data["groups"]["rows"][node["group"].get<std::size_t>()];
  EXPECT_EQ(group["members"].size(), 5);  // the join, its two inputs and what was clamped into them
  EXPECT_EQ(group["scale"], node["quant"]["scale"]);
  EXPECT_EQ(node["from"].size(), 2);
  for (const Json& from : node["from"])
    EXPECT_EQ(data["graph"]["nodes"][from.get<std::size_t>()]["group"], node["group"]);
}

TEST(Page, MemoryPeaksWhereMostBytesAreAlive) {
  const Json memory = checked("fmnist/cnn.pt2", "xnnpack", WithData::kNo).data["memory"];
  const auto live = memory["live"].get<std::vector<std::uint64_t>>();
  const std::size_t peak = memory["peak"];
  EXPECT_EQ(live[peak], *std::ranges::max_element(live));
  std::uint64_t bytes = 0;
  for (const Json& tensor : memory["tensors"]) {
    EXPECT_LE(tensor["first"], peak);
    EXPECT_GE(tensor["last"], peak);
    bytes += tensor["bytes"].get<std::uint64_t>();
  }
  EXPECT_EQ(bytes, live[peak]);
  EXPECT_EQ(memory["order"].size(), live.size());
}

TEST(Page, AnNpuHasCyclesAndDeviceOperators) {
  const Json data = checked("fmnist/cnn.pt2", "ethos-u55-128", WithData::kYes).data;
  const Json& node = node_of(data, "linear");
  EXPECT_GT(node["cost"]["cycles"], 0);
  EXPECT_FALSE(node["becomes"].empty());
}

TEST(Page, HistogramsKeepWhatOccurs) {
  ValueStatistics statistics;
  const std::vector<float> numbers{-1, 0, 0, 1, 1, 1, 3};
  for (const float number : numbers) {
    statistics.moments.min = std::min(statistics.moments.min, number);
    statistics.moments.max = std::max(statistics.moments.max, number);
    statistics.moments.sum.add(number);
    ++statistics.moments.count;
  }
  statistics.histogram.add(numbers, 1, -1, 3);
  const Json json = page::histogram_json(statistics);
  EXPECT_EQ(json["min"], -1);
  EXPECT_EQ(json["max"], 3);
  EXPECT_NEAR(json["zeros"].get<double>(), 2.0 / 7, 1e-4);
  std::vector<std::size_t> filled;
  for (std::size_t i = 0; i < json["bins"].size(); ++i) {
    if (json["bins"][i] > 0) filled.push_back(i);
  }
  EXPECT_EQ(filled.size(), 3);  // zeros are apart
  EXPECT_EQ(json["bins"][filled[1]], 1000);
  EXPECT_TRUE(page::histogram_json(ValueStatistics{}).is_null());
}

TEST(Verdict, TheWorstFindingLeads) {
  CompileSummary summary;
  summary.label = "XNNPACK";
  summary.nodes = summary.delegated_nodes = 5;
  summary.delegates = 1;
  EXPECT_EQ(verdict_of(summary).headline, "All 5 operators run on XNNPACK, in one delegate");
  EXPECT_EQ(verdict_of(summary).grade, Grade::kGood);
  summary.host.emplace_back().needs_fix = true;
  summary.delegated_nodes = 4;
  summary.delegates = 2;
  EXPECT_EQ(verdict_of(summary).headline, "1 of 5 operators falls back to the CPU; 2 delegates on XNNPACK");
  EXPECT_EQ(verdict_of(summary).grade, Grade::kFair);
  summary.broken_gates = {"2 delegates, 1 allowed"};
  EXPECT_EQ(verdict_of(summary).headline,
            "1 of 5 operators falls back to the CPU; 2 delegates on XNNPACK; 1 gate not met");
  EXPECT_EQ(verdict_of(summary).grade, Grade::kBad);
  summary.error = Error(ErrorKind::kUnsupported, "no kernel");
  EXPECT_EQ(verdict_of(summary).headline, "The model does not compile for XNNPACK");
}

TEST(Verdict, LowAccuracyIsReported) {
  CompileSummary summary;
  summary.label = "XNNPACK";
  summary.nodes = summary.delegated_nodes = summary.delegates = 1;
  summary.is_quantized = true;
  summary.file.emplace();
  summary.file->sqnr = {{"output_0", 12.5}, {"output_1", 40}};
  summary.file->held_out = "4 samples";
  const Verdict verdict = verdict_of(summary);
  EXPECT_EQ(verdict.grade, Grade::kFair);
  EXPECT_EQ(verdict.reasons[0], "outputs have SQNR 12.5 dB against float at least, on 4 samples");
}

}  // namespace
}  // namespace isthmus::page_test
