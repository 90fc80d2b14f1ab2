// calibrate and eval in parts, and their merge, as a user meets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/command_line.h"

namespace isthmus::cli_shard_test {
namespace {

using test::Finished;
using testing::HasSubstr;
using Json = nlohmann::json;

const std::string kModels = "tests/models/fmnist/";

class Shards : public test::CommandLine {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string bytes(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Finished calibrate(const std::string& options, const std::string& output = "m.stats") const {
    return isthmus("calibrate " + kModels + "cnn.pt2 --target xnnpack --calibrate " + kModels +
                   "calib_32.npz --samples 20 -o " + path(output) + " " + options);
  }
  Finished evaluate(const std::string& options) const {
    return isthmus("eval " + path("m.pte") + " --reference " + kModels + "cnn.pt2 --data " + kModels +
                   "test_500.npz --samples 60 -o " + path("m.eval") + " " + options);
  }
  // Of parts by their numbers.
  std::string files(const std::vector<std::string>& parts, const std::string& ending = ".stats") const {
    std::string text;
    for (const std::string& part : parts) text += " " + path("m." + part + ending);
    return text;
  }
};

TEST_F(Shards, StatisticsInPartsAreThoseOfOneRun) {
  ASSERT_EQ(calibrate("-q", "one.stats").code, 0);
  for (const char* shard : {"0/3", "1/3", "2/3"}) {
    const Finished done = calibrate("--json --shard " + std::string(shard));
    ASSERT_EQ(done.code, 0) << done.err;
    const Json json = Json::parse(done.out);
    EXPECT_EQ(json["part"]["of"], 20);
    EXPECT_EQ(json["part"]["samples"], json["samples"]);
    EXPECT_EQ(json["part"]["facts"]["target"], "xnnpack");
  }
  const Finished some = isthmus("merge -q --partial" + files({"2-of-3", "0-of-3"}) + " -o " + path("some.stats"));
  ASSERT_EQ(some.code, 0) << some.err;
  EXPECT_EQ(Json::parse(isthmus("inspect --json " + path("some.stats")).out)["part"]["shards"].size(), 2u);
  const Finished all = isthmus("merge " + path("some.stats") + files({"1-of-3"}) + " -o " + path("all.stats"));
  ASSERT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(bytes("all.stats"), bytes("one.stats"));
  const Finished warned = isthmus("compile " + kModels + "cnn.pt2 --target xnnpack --calibrate " + path("some.stats") +
                                  " -o " + path("some.pte"));
  EXPECT_EQ(warned.code, 0);
  EXPECT_THAT(warned.err, HasSubstr("7 of 20 samples are missing: samples 6 to 12"));
}

TEST_F(Shards, MergeListsMissingShardsWithTheirCommands) {
  for (const char* shard : {"0/4", "2/4"}) ASSERT_EQ(calibrate("-q --shard " + std::string(shard)).code, 0);
  const Finished refused = isthmus("merge" + files({"0-of-4", "2-of-4"}) + " -o " + path("all.stats"));
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("10 of 20 samples are missing: samples 5 to 9, samples 15 to 19"));
  EXPECT_FALSE(std::filesystem::exists(path("all.stats")));
  // The commands are as good as they look.
  std::size_t count = 0;
  for (std::size_t at = refused.err.find("isthmus calibrate"); at != std::string::npos;
       at = refused.err.find("isthmus calibrate", at + 1)) {
    const std::string command = refused.err.substr(at, refused.err.find('\n', at) - at);
    EXPECT_EQ(isthmus(command.substr(command.find(' ') + 1)).code, 0) << command;
    ++count;
  }
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(isthmus("merge" + files({"0-of-4", "1-of-4", "2-of-4", "3-of-4"}) + " -o " + path("all.stats")).code, 0);
}

TEST_F(Shards, MergeRefusesOverlapsAndWhatIsForeign) {
  for (const char* shard : {"0/2", "1/2", "1/4"}) ASSERT_EQ(calibrate("-q --shard " + std::string(shard)).code, 0);
  ASSERT_EQ(calibrate("-q", "one.stats").code, 0);
  ASSERT_EQ(calibrate("-q --reproducible --shard 1/2", "other.stats").code, 0);
  const auto refusal = [&](const std::string& merged) {
    const Finished done = isthmus("merge" + merged + " -o " + path("all.stats"));
    EXPECT_EQ(done.code, 1) << merged;
    EXPECT_FALSE(std::filesystem::exists(path("all.stats")));
    return done.err;
  };
  EXPECT_THAT(refusal(files({"0-of-2", "1-of-2", "1-of-4"})),
              testing::AllOf(HasSubstr("samples 5 to 9 are in both shard 0/2 and shard 1/4"),
                             HasSubstr("m.0-of-2.stats and " + path("m.1-of-4.stats"))));
  EXPECT_THAT(refusal(files({"0-of-2"}) + " " + path("other.1-of-2.stats")), HasSubstr("--reproducible is none"));
  EXPECT_THAT(refusal(files({"0-of-2"}) + " " + path("one.stats")), HasSubstr("join the shards first"));
}

TEST_F(Shards, APartThatIsDoneIsNotRunAgain) {
  ASSERT_EQ(calibrate("-q --resume --shard 1/3").code, 0);
  const std::string before = bytes("m.1-of-3.stats");
  const Finished done = calibrate("--resume --shard 1/3 --json");
  EXPECT_EQ(Json::parse(done.out)["was_done"], true);
  EXPECT_EQ(bytes("m.1-of-3.stats"), before);
  // Half a file, and one of other settings, are no reason to leave it.
  std::ofstream(path("m.1-of-3.stats"), std::ios::binary) << before.substr(0, before.size() / 2);
  EXPECT_EQ(Json::parse(calibrate("--resume --shard 1/3 --json").out)["was_done"], false);
  EXPECT_EQ(bytes("m.1-of-3.stats"), before);
  ASSERT_EQ(calibrate("-q --reproducible --shard 1/3").code, 0);
  EXPECT_EQ(Json::parse(calibrate("--resume --shard 1/3 --json").out)["was_done"], false);
  EXPECT_EQ(bytes("m.1-of-3.stats"), before);
  EXPECT_EQ(calibrate("--resume").code, 2);
}

TEST_F(Shards, EvaluationsInPartsAreThatOfOneRun) {
  ASSERT_EQ(isthmus("compile " + kModels + "cnn.pt2 --target xnnpack -q --calibrate " + kModels + "calib_32.npz -o " +
                    path("m.pte"))
                .code,
            0);
  const Finished one = evaluate("--json");
  ASSERT_EQ(one.code, 0) << one.err;
  std::vector<std::string> parts;
  for (int i = 0; i < 7; ++i) {
    const Finished part = evaluate("-q --shard " + std::to_string(i) + "/7");
    ASSERT_EQ(part.code, 0) << part.err;
    parts.insert(parts.begin(), std::to_string(i) + "-of-7");
  }
  EXPECT_EQ(Json::parse(evaluate("--resume --json --shard 3/7").out)["was_done"], true);
  const Finished merged = isthmus("merge --json" + files(parts, ".eval") + " -o " + path("all.eval"));
  ASSERT_EQ(merged.code, 0) << merged.err;
  EXPECT_EQ(bytes("all.eval"), bytes("m.eval"));
  Json expected = Json::parse(one.out);
  expected["output"] = path("all.eval");
  EXPECT_EQ(Json::parse(merged.out), expected);
  EXPECT_EQ(Json::parse(isthmus("inspect --json " + path("all.eval")).out)["top1"], expected["top1"]);
  parts.pop_back();
  const Finished some = isthmus("merge" + files(parts, ".eval") + " -o " + path("some.eval"));
  EXPECT_EQ(some.code, 1);
  EXPECT_THAT(some.err, HasSubstr("--shard 0/7"));
  const std::string statistics = path("x.stats");
  ASSERT_EQ(calibrate("-q", "x.stats").code, 0);
  EXPECT_EQ(isthmus("merge " + path("all.eval") + " " + statistics + " -o " + path("no.eval")).code, 1);
}

TEST_F(Shards, RanksOfASchedulerTakeTheirParts) {
  ASSERT_EQ(calibrate("-q", "one.stats").code, 0);
  std::vector<std::string> parts;
  for (int rank = 0; rank < 4; ++rank) {
    const Finished done = run("OMPI_COMM_WORLD_RANK=" + std::to_string(rank) + " OMPI_COMM_WORLD_SIZE=4 " +
                              command("calibrate " + kModels + "cnn.pt2 --target xnnpack --calibrate " + kModels +
                                      "calib_32.npz --samples 20 --json -o " + path("m.stats")));
    ASSERT_EQ(done.code, 0) << done.err;
    const std::string file = path("m." + std::to_string(rank) + "-of-4.stats");
    EXPECT_EQ(done.err, "shard " + std::to_string(rank) + "/4 of the samples, from OMPI_COMM_WORLD_RANK=" +
                            std::to_string(rank) + " of OMPI_COMM_WORLD_SIZE=4: " + file + "\n");
    EXPECT_EQ(Json::parse(done.out)["output"], file);
    parts.push_back(std::to_string(rank) + "-of-4");
  }
  ASSERT_EQ(isthmus("merge -q" + files(parts) + " -o " + path("all.stats")).code, 0);
  EXPECT_EQ(bytes("all.stats"), bytes("one.stats"));
}

TEST_F(Shards, MoreShardsThanSamplesAreEmptyParts) {
  std::vector<std::string> parts;
  for (int i = 0; i < 23; ++i) {
    ASSERT_EQ(calibrate("-q --shard " + std::to_string(i) + "/23").code, 0);
    parts.push_back(std::to_string(i) + "-of-23");
  }
  ASSERT_EQ(calibrate("-q", "one.stats").code, 0);
  ASSERT_EQ(isthmus("merge -q" + files(parts) + " -o " + path("all.stats")).code, 0);
  EXPECT_EQ(bytes("all.stats"), bytes("one.stats"));
}

TEST_F(Shards, AModelWithStateIsSplitBetweenSequences) {
  const std::string model =
      "calibrate tests/models/state/decoder.pt2 --target xnnpack -q --calibrate " + path("tokens.npz") + " -o ";
  const Finished made = run("/usr/bin/python3 -c \"import numpy; numpy.savez('" + path("tokens.npz") +
                            "', input_0=numpy.arange(10).reshape(10, 1) % 7, input_1=numpy.arange(10))\"");
  if (made.code != 0) GTEST_SKIP() << made.err;
  const Finished refused = isthmus(model + path("s.stats") + " --shard 0/2");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("--sequence")) << refused.err;
}

TEST_F(Shards, WrongUsageIsNamed) {
  EXPECT_EQ(calibrate("--shard 8/8").code, 2);
  EXPECT_EQ(calibrate("--shard 1").code, 2);
  EXPECT_EQ(calibrate("--shard 0/2 --shards 2").code, 2);
  EXPECT_EQ(calibrate("--shards 2").code, 1);
  const std::string eval = "eval x.pte --reference " + kModels + "cnn.pt2 --shard 0/2 ";
  EXPECT_EQ(isthmus(eval).code, 2);
  EXPECT_EQ(isthmus(eval + "-o " + path("a.eval") + " --report " + path("a.html")).code, 2);
}

}  // namespace
}  // namespace isthmus::cli_shard_test
