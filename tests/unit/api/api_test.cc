// The public headers: the same programs as the command line, errors as values, threads beside each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <isthmus/isthmus.h>
#include <isthmus/isthmus_c.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "support/command_line.h"
#include "support/files.h"
#include "support/models.h"

namespace isthmus::api_test {
namespace {

using test::contents;
using test::Finished;
using testing::HasSubstr;
using Json = nlohmann::json;

const std::string kModel = "tests/models/fmnist/cnn.pt2";
const std::string kData = "tests/models/fmnist/calib_32.npz";

std::string path_of(const std::string& file) { return (test::source_dir() / file).string(); }

v1::Model model() {
  auto opened = v1::Model::open(path_of(kModel));
  EXPECT_TRUE(opened) << opened.error().message;
  return *opened;
}

v1::Options options_for(const std::string& target) {
  v1::Options options;
  options.target = target;
  return options;
}

std::vector<std::byte> compiled_for(const std::string& target) {
  const auto program = v1::compile(model(), options_for(target), v1::Data::file(path_of(kData)));
  EXPECT_TRUE(program) << program.error().message;
  return {program->bytes().begin(), program->bytes().end()};
}

class Examples : public test::CommandLine {};

TEST_F(Examples, WriteTheFileOfTheCommandLine) {
  const std::string by_cli = (folder_ / "cli.pte").string();
  const std::string arguments = kModel + " --target xnnpack --calibrate " + kData + " -q -o " + by_cli;
  ASSERT_EQ(isthmus("compile " + arguments).code, 0);
  const std::string expected = contents(by_cli);
  ASSERT_FALSE(expected.empty());
  for (const std::string name : {"compile_model", "compile_model_c"}) {
    const std::string out = (folder_ / (name + ".pte")).string();
    const Finished found = example(name, kModel + " xnnpack " + kData + " " + out);
    ASSERT_EQ(found.code, 0) << found.err;
    EXPECT_TRUE(contents(out) == expected) << name;
    EXPECT_EQ(Json::parse(found.out.substr(found.out.rfind('\n', found.out.size() - 2) + 1))["delegates"], 1);
  }
}

TEST_F(Examples, ReportErrorsAsValues) {
  for (const std::string name : {"compile_model", "compile_model_c"}) {
    const Finished missing = example(name, "missing.pt2 xnnpack " + kData + " " + (folder_ / "x.pte").string());
    EXPECT_EQ(missing.code, 1);
    EXPECT_THAT(missing.err, HasSubstr("missing.pt2"));
    const Finished target = example(name, kModel + " xnnpakc " + kData + " " + (folder_ / "x.pte").string());
    EXPECT_EQ(target.code, 1);
    EXPECT_THAT(target.err, HasSubstr("no target is called xnnpakc"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "x.pte"));
  }
}

TEST(Api, SessionsRunBesideEachOther) {
  const std::vector<std::string> targets{"xnnpack", "tosa-int"};
  std::vector<std::vector<std::byte>> found(targets.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    threads.emplace_back([&, i] { found[i] = compiled_for(targets[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < targets.size(); ++i) EXPECT_TRUE(found[i] == compiled_for(targets[i])) << targets[i];
}

TEST(Api, ProgressCancels) {
  std::vector<std::string> stages;
  const auto stop = [&](std::string_view stage, double) {
    stages.emplace_back(stage);
    return stage != "calibrate";
  };
  const auto program = v1::compile(model(), options_for("xnnpack"), v1::Data::file(path_of(kData)), stop);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, v1::ErrorCode::kCancelled);
  EXPECT_EQ(stages.back(), "calibrate");
}

TEST(Api, StatisticsServeSeveralCompiles) {
  const auto statistics = v1::calibrate(model(), options_for("xnnpack"), v1::Data::file(path_of(kData)));
  ASSERT_TRUE(statistics) << statistics.error().message;
  EXPECT_EQ(statistics->samples(), 32U);
  EXPECT_TRUE(v1::compile(model(), options_for("xnnpack"), *statistics));
  const auto other_model = v1::Model::open(path_of("tests/models/emg_cascade.pt2"));
  ASSERT_TRUE(other_model) << other_model.error().message;
  const auto other = v1::compile(*other_model, options_for("xnnpack"), *statistics);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("made from another model"));
}

TEST(Api, RunsAndEvaluates) {
  const auto program = v1::compile(model(), options_for("xnnpack"), v1::Data::file(path_of(kData)));
  ASSERT_TRUE(program) << program.error().message;
  const Json inspected = Json::parse(model().inspect());
  std::vector<std::int64_t> sizes = inspected["inputs"][0]["shape"];
  std::size_t count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
  const v1::Sample sample{v1::Tensor::of(std::vector<float>(count, 0.25F), sizes)};
  const auto quantized = program->run(sample);
  ASSERT_TRUE(quantized) << quantized.error().message;
  const auto in_float = v1::run(model(), sample);
  ASSERT_TRUE(in_float) << in_float.error().message;
  EXPECT_EQ((*quantized)[0].sizes, (*in_float)[0].sizes);
  EXPECT_EQ((*quantized)[0].floats().size(), (*in_float)[0].floats().size());

  const auto report = program->evaluate(model(), v1::Data::file(path_of("tests/models/fmnist/test_500.npz")));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(Json::parse(report->json())["samples"], 500);
  EXPECT_GT(Json::parse(report->json())["agreement"], 0.95);

  const auto wrong = program->run({v1::Tensor{"f32", {2, 2}, std::vector<std::byte>(3)}});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("input 0"));
}

// Samples in memory are the samples of a file.
TEST(Api, TakesSamplesInMemory) {
  const Json inspected = Json::parse(model().inspect());
  const std::vector<std::int64_t> sizes = inspected["inputs"][0]["shape"];
  std::size_t count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
  std::vector<v1::Sample> samples;
  for (std::size_t i = 0; i < 4; ++i) {
    std::vector<float> numbers(count);
    for (std::size_t j = 0; j < count; ++j) numbers[j] = static_cast<float>((i * 31 + j * 7) % 100) / 100;
    samples.push_back({v1::Tensor::of(numbers, sizes)});
  }
  const auto statistics = v1::calibrate(model(), options_for("xnnpack"), v1::Data::samples(samples));
  ASSERT_TRUE(statistics) << statistics.error().message;
  EXPECT_EQ(statistics->samples(), 4U);
  EXPECT_FALSE(v1::calibrate(model(), options_for("xnnpack"), v1::Data::samples({})));
}

TEST(Api, ExplainsNodesAndNamesNearOnes) {
  const auto overview = v1::explain(model(), options_for("xnnpack"));
  ASSERT_TRUE(overview) << overview.error().message;
  const auto concat = v1::explain(model(), options_for("xnnpack"), "concat");
  ASSERT_TRUE(concat) << concat.error().message;
  const auto unknown = v1::explain(model(), options_for("xnnpack"), "concta");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("did you mean concat"));
}

// The object that is embedded in a page.
Json data_of(const std::string& page) {
  const std::string begin = R"(<script type="application/json" id="data">)";
  const std::size_t at = page.find(begin);
  if (at == std::string::npos) return {};
  const std::size_t from = at + begin.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

// Without what was measured with a clock.
Json without_times(Json data) {
  data.erase("times");
  for (const char* key : {"seconds", "times", "stages", "file"}) data["summary"].erase(key);
  return data;
}

TEST_F(Examples, PagesAreThoseOfTheCommandLine) {
  const std::string page = (folder_ / "page.html").string();
  const std::string program = (folder_ / "model.pte").string();
  ASSERT_EQ(isthmus("check " + kModel + " --target xnnpack -q --report " + page).code, 0);
  const auto checked = v1::check(model(), options_for("xnnpack"));
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(without_times(data_of(checked->page()))["graph"], data_of(contents(page))["graph"]);

  ASSERT_EQ(isthmus("compile " + kModel + " --target xnnpack --calibrate " + kData + " -q -o " + program +
                    " --report " + page)
                .code,
            0);
  const auto compiled = v1::compile(model(), options_for("xnnpack"), v1::Data::file(path_of(kData)));
  ASSERT_TRUE(compiled) << compiled.error().message;
  const Json ours = data_of(compiled->report().page());
  const Json theirs = data_of(contents(page));
  EXPECT_EQ(ours["kind"], "compile");
  for (const char* key : {"graph", "groups", "memory", "verdict"}) EXPECT_EQ(ours[key], theirs[key]) << key;
  EXPECT_EQ(compiled->report().page(), compiled->report().page());

  const std::string test = path_of("tests/models/fmnist/test_500.npz");
  v1::Data few = v1::Data::file(test);
  few.max_samples = 20;
  ASSERT_EQ(
      isthmus("eval " + program + " --reference " + kModel + " --data " + test + " --samples 20 -q --report " + page)
          .code,
      0);
  const auto evaluated = compiled->evaluate(model(), few);
  ASSERT_TRUE(evaluated) << evaluated.error().message;
  EXPECT_EQ(data_of(evaluated->page())["graph"], data_of(contents(page))["graph"]);
  EXPECT_EQ(data_of(evaluated->page())["kind"], "eval");
}

TEST(Api, PagesOpenAtTheNodeThatIsExplained) {
  const auto concat = v1::explain(model(), options_for("xnnpack"), "concat");
  ASSERT_TRUE(concat) << concat.error().message;
  EXPECT_EQ(data_of(concat->page())["node"], "concat");
  const auto overview = v1::explain(model(), options_for("xnnpack"));
  ASSERT_TRUE(overview) << overview.error().message;
  EXPECT_FALSE(data_of(overview->page()).contains("node"));
}

// Samples in memory are let go, but for the few that the page needs.
TEST(Api, PagesOfSamplesInMemoryHaveErrors) {
  const std::vector<std::int64_t> sizes = Json::parse(model().inspect())["inputs"][0]["shape"];
  std::vector<v1::Sample> samples;
  for (int i = 0; i < 8; ++i) {
    std::vector<float> numbers(28 * 28);
    for (std::size_t j = 0; j < numbers.size(); ++j) numbers[j] = static_cast<float>((j * 13 + 7) % 29) / 29;
    samples.push_back({v1::Tensor::of(numbers, sizes)});
  }
  const auto program = v1::compile(model(), options_for("xnnpack"), v1::Data::samples(samples));
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_THAT(program->report().page(), HasSubstr("\"rounding_db\""));
}

TEST(Api, OpenedProgramsHaveNoReport) {
  const auto opened = v1::Program::open(path_of("tests/models/pte/vit_tokens_xnnpack_fixed.pte"));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->report().json(), "");
  EXPECT_EQ(opened->report().page(), "");
}

// A model that counts its calls.
TEST(Api, RunnersKeepStateAndProgramsDoNot) {
  const auto stream = v1::Model::open(path_of("tests/models/state/stream.pt2"));
  ASSERT_TRUE(stream) << stream.error().message;
  v1::Options options = options_for("xnnpack");
  options.keep_float = true;
  const auto program = v1::compile(*stream, options, v1::Data());
  ASSERT_TRUE(program) << program.error().message;
  const std::vector<std::int64_t> sizes = Json::parse(stream->inspect())["inputs"][0]["shape"];
  std::size_t count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
  const v1::Sample sample{v1::Tensor::of(std::vector<float>(count, 0.5F), sizes)};
  auto runner = v1::Runner::create(*program);
  ASSERT_TRUE(runner) << runner.error().message;
  const auto bytes_of = [&](const v1::Result<std::vector<v1::Tensor>>& outputs) {
    EXPECT_TRUE(outputs) << outputs.error().message;
    return (*outputs)[0].data;
  };
  const auto first = bytes_of(program->run(sample));
  EXPECT_TRUE(bytes_of(program->run(sample)) == first);
  EXPECT_TRUE(bytes_of(runner->run(sample)) == first);
  EXPECT_FALSE(bytes_of(runner->run(sample)) == first);
  runner->reset();
  EXPECT_TRUE(bytes_of(runner->run(sample)) == first);
}

}  // namespace
}  // namespace isthmus::api_test
