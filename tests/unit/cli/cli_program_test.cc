// run, inspect, bench and eval of program files, as a user meets them, and the CPUs that they use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/cpus.h"
#include "formats/npy.h"
#include "support/json_command_line.h"
#include "support/models.h"

namespace isthmus::cli_program_test {
namespace {

using test::Finished;
using testing::HasSubstr;
using testing::Not;

const std::string kFolder = "tests/models/pte/";
const std::string kTokens = kFolder + "vit_tokens_xnnpack_fixed.pte";
const std::string kTokensInput = " --input " + kFolder + "tokens_image.npy";
const std::string kReverted = kFolder + "vit_tokens_xnnpack_reverted.pte";
const std::string kTosa = kFolder + "emg_u55tosa_v2_reverted.pte";
const std::string kForeign = kFolder + "emg_u55_v2_fixed.pte";

class CliProgram : public test::JsonCommandLine {};

TEST_F(CliProgram, RunGivesTheRecordedBits) {
  for (const std::string threads : {"", " --threads 1", " --threads 3"}) {
    const auto done = json("run " + kTokens + kTokensInput + outputs() + threads);
    EXPECT_EQ(done["delegate_calls"], 1);
    EXPECT_EQ(done["host_calls"], 0);
    EXPECT_EQ(done["border_calls"], 0);
    ASSERT_EQ(done["outputs"].size(), 1u);
    EXPECT_EQ(done["outputs"][0]["name"], "output_0");
    EXPECT_EQ(done["outputs"][0]["dtype"], "f32");
    EXPECT_EQ(done["outputs"][0]["shape"], (nlohmann::json{1, 17, 32}));
    const Tensor found = test::read_tensor(done["outputs"][0]["file"].get<std::string>());
    const Tensor expected = test::read_tensor(test::source_dir() / kFolder / "vit_tokens_xnnpack_fixed.out.npy");
    EXPECT_TRUE(std::ranges::equal(found.bytes(), expected.bytes())) << threads;
  }
}

TEST_F(CliProgram, TheContentSaysWhatAFileIs) {
  const auto copy = [&](const std::string& from, const std::string& name) {
    std::filesystem::copy_file(from, folder_ / name);
    return (folder_ / name).string();
  };
  EXPECT_EQ(json("inspect " + copy(kTokens, "program.pt2"))["kind"], "pte");
  EXPECT_EQ(json("inspect " + copy("tests/models/emg_cascade.pt2", "model.pte"))["kind"], "pt2");
  std::ofstream(folder_ / "text.pte")
      << "no program at all, but long enough to be one if its name counted for anything";
  EXPECT_THAT(isthmus("inspect " + (folder_ / "text.pte").string()).err, HasSubstr("is a text file"));
  std::ofstream(folder_ / "empty.pte");
  EXPECT_EQ(isthmus("inspect " + (folder_ / "empty.pte").string()).code, 1);
}

// A model with state is called several times, and its program answers the same.
TEST_F(CliProgram, RunKeepsTheStateFromCallToCall) {
  const std::string model = "tests/models/state/stream.pt2";
  const std::string program = (folder_ / "stream.pte").string();
  Npz npz = *Npz::open(*map_file("tests/models/state/stream_io.npz"));
  const Tensor frames = Tensor::from(*npz.read(*npz.find("input_0")));
  std::string inputs;
  for (std::size_t i = 0; i < 3; ++i) {
    Tensor frame(DType::kF32, {1, 4, 6});
    std::ranges::copy(frames.bytes().subspan(i * 96, 96), frame.mutable_bytes().begin());
    const std::string path = (folder_ / ("frame_" + std::to_string(i) + ".npy")).string();
    ASSERT_TRUE(write_file(path, *write_npy(frame.view())));
    inputs += " --input " + path;
  }
  EXPECT_EQ(isthmus("compile " + model + " --target xnnpack --float -o " + program).code, 0);
  const auto count_of = [&](const std::string& arguments, int call) {
    const Finished done = isthmus("run " + arguments + outputs());
    EXPECT_EQ(done.code, 0) << done.err;
    const auto path = folder_ / "outputs" / ("call_" + std::to_string(call)) / "output_1.npy";
    return test::read_tensor(path).data<std::int64_t>()[0];
  };
  for (const std::string& file : {model, program}) {
    EXPECT_EQ(count_of(file + inputs, 2), 3) << file;
    EXPECT_EQ(count_of(file + inputs + " --reset", 2), 1) << file;
    const Finished json = isthmus("run " + file + inputs + outputs() + " --json");
    EXPECT_THAT(json.out, HasSubstr("\"calls\":3"));
    EXPECT_THAT(json.out, HasSubstr(R"({"name":"past","dtype":"f32","shape":[1,4,4],"bytes":64})"));
    EXPECT_THAT(isthmus("inspect " + file).out, HasSubstr("past  f32[1,4,4]  64 B"));
  }
  EXPECT_THAT(isthmus("check " + model + " --target xnnpack").out, HasSubstr("of state kept between runs"));
  EXPECT_EQ(isthmus("bench " + program + " --seconds 0.01").code, 0);
}

TEST_F(CliProgram, RunNamesWhatIsWrong) {
  const Finished no_input = isthmus("run " + kTokens + outputs());
  EXPECT_EQ(no_input.code, 1);
  EXPECT_THAT(no_input.err, HasSubstr("give every input with --input (f32[1,3,32,32])"));
  const Finished two = isthmus("run " + kTokens + kTokensInput + kTokensInput + outputs());
  EXPECT_EQ(two.code, 1);
  EXPECT_THAT(two.err, HasSubstr("the method takes 1 input, 2 given"));
  const Finished shape = isthmus("run " + kTokens + " --input tests/models/emg_cascade_input_0.npy" + outputs());
  EXPECT_EQ(shape.code, 1);
  EXPECT_THAT(shape.err, HasSubstr("emg_cascade_input_0.npy is f32[1,8,200], but input 0 takes f32[1,3,32,32]"));
  const Finished method = isthmus("run " + kTokens + kTokensInput + outputs() + " --method backward");
  EXPECT_EQ(method.code, 1);
  EXPECT_THAT(method.err, HasSubstr("the program has no method \"backward\", only \"forward\""));
  const Finished foreign = isthmus("run " + kForeign + outputs());
  EXPECT_EQ(foreign.code, 1);
  EXPECT_THAT(foreign.err, HasSubstr("cannot run delegates of \"EthosUBackend\""));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "outputs"));
  EXPECT_EQ(isthmus("run " + kTokens + kTokensInput + outputs() + " --threads 0").code, 2);
}

TEST_F(CliProgram, BrokenTransposesAreRejectedWithOwnMessages) {
  const Finished done = isthmus("run " + kReverted + kTokensInput + outputs());
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.err, HasSubstr("static_transpose"));
  EXPECT_THAT(done.err, HasSubstr("zero point -6"));
  EXPECT_THAT(done.err, HasSubstr("zero point -15"));
  EXPECT_THAT(done.err, HasSubstr(kReverted));
}

TEST_F(CliProgram, InspectCountsWhatIsInside) {
  const auto done = json("inspect " + kTokens);
  EXPECT_EQ(done["kind"], "pte");
  EXPECT_EQ(done["bytes"], std::filesystem::file_size(kTokens));
  EXPECT_EQ(done["methods"], (nlohmann::json{"forward"}));
  EXPECT_EQ(done["inputs"][0], (nlohmann::json{{"name", "input_0"},
                                               {"dtype", "f32"},
                                               {"shape", {1, 3, 32, 32}},
                                               {"is_dynamic", false},
                                               {"dim_order", {0, 1, 2, 3}}}));
  EXPECT_EQ(done["outputs"][0]["shape"], (nlohmann::json{1, 17, 32}));
  ASSERT_EQ(done["delegates"].size(), 1u);
  EXPECT_EQ(done["delegates"][0]["backend"], "XnnpackBackend");
  EXPECT_EQ(done["delegates"][0]["ops"]["static_transpose"], done["delegates"][0]["transposes"]);
  EXPECT_EQ(done["delegates"][0]["ops"]["convolution_2d"], 1);
  EXPECT_EQ(done["ops"]["convolution_2d"], 1);
  EXPECT_EQ(done["host_calls"], 0);
  EXPECT_EQ(done["memory_bytes"], 12288 + 2176 + 64);
  EXPECT_EQ(done["constants"], 2);
  EXPECT_EQ(done["constant_bytes"], 32 + 544);
  EXPECT_EQ(done["named_data"], 4);
}

TEST_F(CliProgram, InspectShowsForeignBackends) {
  const auto done = json("inspect " + kForeign);
  EXPECT_EQ(done["delegates"][0]["backend"], "EthosUBackend");
  EXPECT_FALSE(done["delegates"][0].contains("nodes"));
}

TEST_F(CliProgram, InspectShowsTosaGraphs) {
  const auto done = json("inspect " + kTosa);
  ASSERT_EQ(done["delegates"].size(), 2u);
  EXPECT_EQ(done["delegates"][0]["backend"], "TOSABackend");
  EXPECT_EQ(done["delegates"][0]["transposes"], done["delegates"][0]["ops"]["TRANSPOSE"]);
  EXPECT_GT(done["delegates"][0]["ops"]["CONV2D"], 0);
  EXPECT_FALSE(done["delegates"][0]["ops"].contains("CONST"));
  EXPECT_EQ(done["host_calls"], 7);
  EXPECT_EQ(done["border_calls"], 3) << "two inputs are quantized and one output dequantized";
  EXPECT_EQ(done["ops"]["aten::cat.out"], 1);
}

TEST_F(CliProgram, InspectForAPerson) {
  const Finished done = isthmus("inspect " + kTosa);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("7 host calls, 3 of them I/O conversions"));
  EXPECT_THAT(done.out, HasSubstr("0  TOSABackend  17.2 KiB"));
  EXPECT_THAT(done.out, Not(HasSubstr("\033")));
  const Finished graph = isthmus("inspect " + kTokens + " --ir");
  EXPECT_EQ(graph.code, 1);
  EXPECT_THAT(graph.err, HasSubstr("has no graph to print"));
  EXPECT_EQ(isthmus("inspect " + kTokens + " --method backward").code, 1);
}

TEST_F(CliProgram, BenchMeasures) {
  const auto done = json("bench " + kTokens + " --seconds 0.01 --threads 2");
  EXPECT_GE(done["runs"], 1);
  EXPECT_LE(done["ms"]["min"], done["ms"]["p50"]);
  EXPECT_LE(done["ms"]["p50"], done["ms"]["p90"]);
  EXPECT_EQ(done["delegate_calls"], 1);
  EXPECT_EQ(done["host_calls"], 0);
  EXPECT_EQ(done["threads"], 2);
  for (const char* key : {"load_ms", "first_run_ms", "delegate_ms", "host_ms"}) EXPECT_TRUE(done.contains(key)) << key;
  EXPECT_EQ(isthmus("bench " + kTokens + kTokensInput + " --seconds 0.01").code, 0);
  const auto plain = json("bench " + kTokens + " --seconds 0.01");
  EXPECT_EQ(plain["threads"], 1) << "unless more are asked for";
  EXPECT_GE(plain["waited"], 0);
}

TEST_F(CliProgram, BenchProfilesOperatorsAndHostCalls) {
  const auto done = json("bench " + kTokens + " --seconds 0.01 --profile");
  ASSERT_TRUE(done["profile"].is_array());
  EXPECT_GT(done["profile"].size(), 1u);
  double shares = 0;
  bool has_convolution = false;
  for (const auto& row : done["profile"]) {
    EXPECT_EQ(row["delegate"], 0);
    EXPECT_GE(row["ms"], 0);
    shares += row["share"].get<double>();
    has_convolution = has_convolution || row["operator"].get<std::string>().starts_with("Convolution");
  }
  EXPECT_TRUE(has_convolution);
  EXPECT_LE(shares, 1.001) << "operators take no longer than the delegate";
  EXPECT_FALSE(json("bench " + kTokens + " --seconds 0.01").contains("profile")) << "unless it is asked for";

  const Finished text = isthmus("bench " + kTokens + " --seconds 0.01 --profile");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("by kind"));
  EXPECT_THAT(text.out, HasSubstr("(delegate 0)"));

  // Each host call is a row; so is a delegate that does not tell of its operators.
  const auto other = json("bench " + kTosa + " --seconds 0.01 --profile");
  std::size_t host_rows = 0;
  bool has_delegate = false;
  for (const auto& row : other["profile"]) {
    if (row["delegate"].is_null()) ++host_rows;
    has_delegate = has_delegate || (row["delegate"] == 0 && row["operator"] == "TOSABackend");
  }
  EXPECT_EQ(host_rows, other["host_calls"].get<std::size_t>());
  EXPECT_GT(host_rows, 0u);
  EXPECT_TRUE(has_delegate);
}

// Results are added in the order of the samples, whichever thread computed them.
TEST_F(CliProgram, EvalGivesTheSameOnAnyNumberOfThreads) {
  const std::string models = "tests/models/fmnist/";
  const std::string program = (folder_ / "cnn.pte").string();
  const Finished compiled = isthmus("compile " + models + "cnn.pt2 --target xnnpack --calibrate " + models +
                                    "calib_32.npz --samples 4 -q -o " + program);
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  std::set<std::string> texts;
  for (const std::string threads : {"1", "2", "3", "8"}) {
    const Finished done = isthmus("eval " + program + " --reference " + models + "cnn.pt2 --data " + models +
                                  "test_500.npz --samples 21 --json --threads " + threads);
    EXPECT_EQ(done.code, 0) << done.err;
    texts.insert(done.out);
  }
  EXPECT_EQ(texts.size(), 1u);
}

// A folder as the root of a file system, with these files.
class Cpus : public CliProgram {
 protected:
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }
};

TEST_F(Cpus, OfControlGroupsOfVersionTwo) {
  EXPECT_EQ(cgroup_cpus(folder_), std::nullopt);
  write("proc/self/cgroup", "0::/a.slice/b.service\n");
  EXPECT_EQ(cgroup_cpus(folder_), std::nullopt);
  write("sys/fs/cgroup/a.slice/b.service/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_cpus(folder_), std::nullopt);
  write("sys/fs/cgroup/a.slice/cpu.max", "150000 100000\n");
  EXPECT_EQ(cgroup_cpus(folder_), 1.5) << "of the group that it is in";
  write("sys/fs/cgroup/a.slice/b.service/cpu.max", "50000 100000\n");
  EXPECT_EQ(cgroup_cpus(folder_), 0.5) << "the least counts";
  write("sys/fs/cgroup/a.slice/b.service/cpu.max", "garbage\n");
  EXPECT_EQ(cgroup_cpus(folder_), 1.5);
}

TEST_F(Cpus, OfControlGroupsOfVersionOne) {
  write("proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/docker/12ab\n1:name=systemd:/x\n0::/x\n");
  write("sys/fs/cgroup/cpu,cpuacct/docker/12ab/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/docker/12ab/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpus(folder_), std::nullopt);
  // In a container the files of its own group are at the mount.
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpus(folder_), 3);
}

TEST_F(Cpus, AreWholeOnesOfMaskAndQuota) {
  EXPECT_EQ(usable_cpus(4, std::nullopt), 4u);
  EXPECT_EQ(usable_cpus(4, 2.5), 2u);
  EXPECT_EQ(usable_cpus(2, 8.0), 2u);
  EXPECT_EQ(usable_cpus(8, 0.3), 1u);
  EXPECT_EQ(usable_cpus(0, std::nullopt), 1u);
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_LE(available_cpus(), static_cast<std::size_t>(CPU_COUNT(&before)));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(available_cpus(), 1u);
  EXPECT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST_F(CliProgram, BenchRejectsOtherFiles) {
  const Finished model = isthmus("bench tests/models/emg_cascade.pt2");
  EXPECT_EQ(model.code, 1);
  EXPECT_THAT(model.err, HasSubstr("not a program file (.pte); `isthmus compile` makes one of it"));
  EXPECT_EQ(isthmus("bench").code, 2);
  EXPECT_EQ(isthmus("bench " + kTokens + " --seconds -1").code, 2);
  EXPECT_EQ(isthmus("bench --help").code, 0);
}

}  // namespace
}  // namespace isthmus::cli_program_test
