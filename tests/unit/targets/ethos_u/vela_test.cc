// The hand-over to the device's compiler, with a stand-in that writes prepared files; and the stream of its results.
#include "targets/ethos_u/vela.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "formats/executorch/pte.h"
#include "support/command_line.h"
#include "support/files.h"
#include "support/models.h"
#include "support/tosa.h"
#include "support/zip_builder.h"

namespace isthmus::vela_test {
namespace {

using test::Finished;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

std::string npy(const std::string& type, const std::string& shape, const std::string& data) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(118, ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + data;
}
std::string bytes_npy(const std::string& data) { return npy("|S" + std::to_string(data.size()), "()", data); }
std::string integers_npy(const std::string& shape, const std::vector<std::int64_t>& numbers) {
  return npy("<i8", shape, {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::int64_t)});
}

struct Tensors {
  std::vector<std::vector<std::int64_t>> shapes;  // of elements of one byte
};
void add_tensors(std::vector<test::ZipItem>& items, const std::string& prefix, const Tensors& tensors) {
  const std::vector<std::int64_t> ones(tensors.shapes.size(), 1);
  const std::string count = "(" + std::to_string(ones.size()) + ",)";
  std::vector<std::int64_t> sizes;
  for (const auto& shape : tensors.shapes) {
    sizes.insert(sizes.end(), 6 - shape.size(), 1);
    sizes.insert(sizes.end(), shape.begin(), shape.end());
  }
  items.push_back({prefix + "_shape.npy", integers_npy("(" + std::to_string(ones.size()) + ", 6)", sizes)});
  items.push_back({prefix + "_elem_size.npy", integers_npy(count, ones)});
  items.push_back({prefix + "_offset.npy", integers_npy(count, std::vector<std::int64_t>(ones.size(), 64))});
  items.push_back({prefix + "_region.npy", integers_npy(count, ones)});
}
// The commands and weights end in zeros, which count.
const std::string kCommands = std::string("COP1 do\0\0", 9);
const std::string kWeights = std::string("weights\0", 8);
std::string network_file(const Tensors& inputs, const Tensors& outputs, const std::string& commands = kCommands) {
  std::vector<test::ZipItem> items{{"cmd_data.npy", bytes_npy(commands)},
                                   {"weight_data.npy", bytes_npy(kWeights)},
                                   {"scratch_shape.npy", integers_npy("(1,)", {4096})},
                                   {"input_quantization.npy", npy("|O", "(1,)", "pickled")}};
  add_tensors(items, "input", inputs);
  add_tensors(items, "output", outputs);
  return test::build_zip(items);
}

const std::string kSummary =
    "experiment,network,sram_memory_used,dram_memory_used,on_chip_flash_memory_used,off_chip_flash_memory_used,"
    "cycles_total,inference_time\ndefault,out,72.5,0,0.25,228,353714,0.000707428\n";

class Vela : public test::CommandLine {
 protected:
  // A program that copies what lies in its folder to where it is told to.
  std::string stand_in(const std::string& network, const std::string& before = "") const {
    write("prepared.npz", network);
    write("prepared.csv", kSummary);
    const std::string folder = folder_.string();
    write("stand_in", "#!/bin/sh\nset -e\n" + before + "\necho \"$@\" > " + folder +
                          "/arguments\nfor a in \"$@\"; do case $a in --output-dir=*) d=${a#*=};; esac; done\n"
                          "mkdir -p \"$d\"\ncp " +
                          folder + "/prepared.npz \"$d/out_vela.npz\"\ncp " + folder +
                          "/prepared.csv \"$d/out_summary_System.csv\"\n");
    std::filesystem::permissions(folder_ / "stand_in", std::filesystem::perms::owner_all);
    return folder + "/stand_in";
  }
  std::string contents(const std::string& name) const { return test::contents(folder_ / name); }
};

// y = x of two rows by three.
Blob copying() {
  test::TosaBuilder b;
  b.output(b.op(tosa::Op::kIdentity, tosa::Nothing{}, {b.input(tosa::Type::kI8, {2, 3})}, tosa::Type::kI8, {2, 3}));
  return test::file_of(b.graph);
}
ethos_u::VelaOptions options_for(const std::string& program) {
  ethos_u::VelaOptions options = *ethos_u::usual_vela_options("ethos-u55-128");
  options.program = program;
  return options;
}

TEST_F(Vela, BecomesTheStreamOfTheDelegate) {
  const auto result = ethos_u::run_vela(copying(), options_for(stand_in(network_file({{{2, 3}}}, {{{2, 3}}}))));
  ASSERT_TRUE(result) << result.error().text();
  const auto block = [](std::string name, std::uint32_t size, std::string data) {
    name.resize(16, '\0');
    name.append(reinterpret_cast<const char*>(&size), sizeof(size));
    name.resize(32, '\0');
    data.resize((data.size() + 15) / 16 * 16, '\0');
    return name + data;
  };
  const std::vector<std::int32_t> tensors{1, 1, 1, 1, 1, 2, 3, 1, 64, 1};
  const std::string tensor_bytes(reinterpret_cast<const char*>(tensors.data()), tensors.size() * 4);
  EXPECT_EQ(result->stream.text(),
            block("vela_bin_stream", 0, "") + block("cmd_data", 9, kCommands) + block("weight_data", 8, kWeights) +
                block("scratch_size", 4, std::string("\0\x10\0\0", 4)) + block("inputs", 40, tensor_bytes) +
                block("outputs", 40, tensor_bytes) + block("vela_end_stream", 0, ""));
  ASSERT_TRUE(result->estimate);
  EXPECT_EQ(result->estimate->sram_kib, 72.5);
  EXPECT_EQ(result->estimate->flash_kib, 228.25);
  EXPECT_EQ(result->estimate->cycles, 353714);
  EXPECT_THAT(contents("arguments"),
              AllOf(HasSubstr("--accelerator-config=ethos-u55-128 --config=Arm/vela.ini --output-format=raw "
                              "--system-config=Ethos_U55_High_End_Embedded --memory-mode=Shared_Sram --output-dir="),
                    HasSubstr("/out.tosa\n")));
}

TEST_F(Vela, FailuresAreReported) {
  const std::string network = network_file({{{2, 3}}}, {{{2, 3}}});
  const auto error = [&](const std::string& file, const std::string& before = "") {
    const auto result = ethos_u::run_vela(copying(), options_for(stand_in(file, before)));
    return result ? std::string() : result.error().text();
  };
  EXPECT_EQ(error(network), "");
  EXPECT_THAT(error(network, "echo no such operator; exit 3"),
              AllOf(HasSubstr("ended with 3"), HasSubstr("no such operator")));
  const tosa::Graph graph = *tosa::read_graph(copying());
  const std::string name = graph.values[graph.outputs[0]].name;
  EXPECT_THAT(error(network, "echo \"cannot place '" + name + "'\"; exit 1"), HasSubstr("in IDENTITY \"" + name));
  EXPECT_THAT(error(network, "exit 0"), HasSubstr("wrote no network"));
  EXPECT_THAT(error("no zip"), HasSubstr("out_vela.npz"));
  EXPECT_THAT(error(network_file({{{2, 3}, {1}}}, {{{2, 3}}})), HasSubstr("vela gives 2 inputs for a graph with 1"));
  EXPECT_THAT(error(network_file({{{2, 3}}}, {{{2, 4}}})), HasSubstr("vela gives output 8 elements of 1 bytes for 6"));
  EXPECT_THAT(error(network_file({{{2, 3}}}, {{{2, 3}}}, "no commands")), HasSubstr("neither COP1 nor COP2"));
  EXPECT_THAT(ethos_u::run_vela(copying(), options_for("/no/such/program")).error().text(), HasSubstr("cannot run"));
  EXPECT_FALSE(ethos_u::usual_vela_options("tosa-int"));
}

// A stand-in that takes no graph with an operator of some origin, as the real one that names an operator of its own.
TEST_F(Vela, RefusedOperatorsAreFoundByBisection) {
  test::TosaBuilder b;
  tosa::ValueIndex x = b.input(tosa::Type::kI8, {2, 3});
  for (int i = 0; i < 5; ++i) x = b.op(tosa::Op::kIdentity, tosa::Nothing{}, {x}, tosa::Type::kI8, {2, 3});
  b.output(x);
  const std::string refused = b.graph.values[4].name;
  b.graph.operators[3].location = "model.py:7 relu in block";
  b.graph.operators[4].location = "model.py:9 relu in block";
  const auto error = [&](const std::string& before) {
    const auto result =
        ethos_u::run_vela(test::file_of(b.graph), options_for(stand_in(network_file({{{2, 3}}}, {{{2, 3}}}), before)));
    return result ? std::string() : result.error().text();
  };
  const std::string file = "for f in \"$@\"; do :; done\n";
  const std::string traceback = "echo 'Traceback (most recent call last):'; echo \"  File a.py\"; ";
  const std::string text =
      error(file + "if grep -q model.py:7 \"$f\"; then " + traceback +
            "echo \"RuntimeError: 'Error: Non-passthrough operation (X) could not run'\"; exit 1; fi");
  EXPECT_THAT(text, AllOf(HasSubstr("ended with 1: \"Non-passthrough operation (X) could not run\""),
                          HasSubstr("in IDENTITY \"" + refused + "\" (model.py:7 relu in block)"),
                          HasSubstr("precision = \"float\""), Not(HasSubstr("Traceback")), Not(HasSubstr("a.py"))));
  // What it says of the shortest graph counts, not what it says of a later operator.
  EXPECT_THAT(error(file + "if grep -q model.py:9 \"$f\"; then echo 'Error: (Late)'; exit 1; fi\n"
                           "if grep -q model.py:7 \"$f\"; then echo 'Error: (Early)'; exit 1; fi"),
              AllOf(HasSubstr("(Early)"), HasSubstr("in IDENTITY \"" + refused)));
  // A call that fails with any graph says nothing of an operator.
  EXPECT_THAT(error("echo 'Error: no such system'; exit 1"),
              AllOf(HasSubstr("no such system"), Not(HasSubstr("IDENTITY")), Not(HasSubstr("rule"))));
}

// With all that it started.
TEST_F(Vela, IsStoppedWhereItTakesTooLong) {
  ethos_u::VelaOptions options = options_for(stand_in(
      network_file({{{2, 3}}}, {{{2, 3}}}), "sleep 1000 & echo $! > " + (folder_ / "child").string() + "; wait"));
  options.timeout = std::chrono::seconds(1);
  const auto result = ethos_u::run_vela(copying(), options);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().text(), HasSubstr("stand_in did not finish within 1 seconds and was stopped"));
  EXPECT_THAT(run("( sleep 0.2; cat /proc/$(cat " + (folder_ / "child").string() + ")/stat )").out,
              Not(HasSubstr(" S ")));
}

TEST_F(Vela, CompileUsesItAndSaysSo) {
  const std::string model = "compile tests/models/emg_cascade.pt2 --target ethos-u55-128 --io int8 -o " +
                            (folder_ / "emg_cascade.pte").string();
  const Finished plain = isthmus(model + " --json --emit-tosa " + (folder_ / "tosa").string() + " --emit-mlir " +
                                 (folder_ / "mlir").string());
  ASSERT_EQ(plain.code, 0) << plain.err;
  const Json before = Json::parse(plain.out);
  EXPECT_EQ(before["backend"], "TOSABackend");
  ASSERT_EQ(before["tosa_files"].size(), 1u);
  EXPECT_EQ(before["tosa_files"][0], (folder_ / "tosa" / "emg_cascade_0.tosa").string());
  EXPECT_EQ(before["mlir_files"][0], (folder_ / "mlir" / "emg_cascade_0.mlir").string());
  EXPECT_THAT(contents("mlir/emg_cascade_0.mlir"), AllOf(HasSubstr("func.func @main("), HasSubstr("\"tosa.conv2d\"(")));
  ASSERT_EQ(before["tosa"].size(), 1u);
  EXPECT_EQ(before["tosa"][0]["bytes"], std::filesystem::file_size(folder_ / "tosa" / "emg_cascade_0.tosa"));
  EXPECT_EQ(before["tosa"][0]["operators"], before["delegate_nodes"]);
  EXPECT_GT(before["tosa"][0]["macs"], 700000);
  EXPECT_GT(before["tosa"][0]["transposes"], 0);
  EXPECT_THAT(isthmus(model).out, HasSubstr("the delegate holds TOSA bytes (TOSABackend): not compiled by vela"));

  const Json graph = Json::parse(isthmus("inspect --json " + (folder_ / "tosa/emg_cascade_0.tosa").string()).out);
  const auto tensors = [](const Json& rows) {
    Tensors result;
    for (const Json& row : rows) result.shapes.push_back(row["shape"].get<std::vector<std::int64_t>>());
    return result;
  };
  const std::string program = stand_in(network_file(tensors(graph["inputs"]), tensors(graph["outputs"])));
  const Finished done = isthmus(model + " --json --memory-mode Sram_Only --vela " + program);
  ASSERT_EQ(done.code, 0) << done.err;
  const Json after = Json::parse(done.out);
  EXPECT_EQ(after["backend"], "EthosUBackend");
  EXPECT_EQ(after["vela"][0]["cycles"], 353714);
  EXPECT_EQ(after["sqnr_db"], before["sqnr_db"]) << "measured on the TOSA graph";
  EXPECT_THAT(contents("arguments"), HasSubstr("--memory-mode=Sram_Only"));
  const auto file = pte::read_program(*map_file((folder_ / "emg_cascade.pte").string()));
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->plans[0].delegates[0].id, "EthosUBackend");
  EXPECT_TRUE(file->plans[0].delegates[0].blob.text().starts_with("vela_bin_stream"));
  const Finished text = isthmus(model + " --vela " + program);
  EXPECT_THAT(text.out, AllOf(HasSubstr("vela estimates 353714 cycles"), Not(HasSubstr("TOSA bytes"))));
  EXPECT_THAT(text.err, Not(HasSubstr("[finished-by]")));

  // What the user did not name is said.
  std::filesystem::create_symlink(program, folder_ / "vela");
  const Finished found = run("( PATH=" + folder_.string() + ":$PATH; " + command(model) + " )");
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_THAT(found.err, HasSubstr("delegates are compiled by " + (folder_ / "vela").string() +
                                   ", found on PATH; --vela names another [finished-by]"));
  EXPECT_THAT(isthmus(model + " --vela-timeout soon --vela " + program).err,
              HasSubstr("--vela-timeout: \"soon\" is not a whole number of seconds"));
  const Finished ran = isthmus("run " + (folder_ / "emg_cascade.pte").string() + " -o " + folder_.string());
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("cannot run delegates of \"EthosUBackend\""));
}

TEST_F(Vela, FlagsThatMakeNoSenseAreRefused) {
  const std::string out = " --io int8 -o " + (folder_ / "m.pte").string();
  const std::string model = "compile tests/models/emg_cascade.pt2" + out;
  EXPECT_THAT(isthmus(model + " --target ethos-u55-128 --vela /no/such/program").err,
              HasSubstr("--vela /no/such/program: program not found"));
  EXPECT_THAT(isthmus(model + " --target tosa-int --vela /bin/true").err, HasSubstr("is not used for tosa-int"));
  EXPECT_THAT(isthmus(model + " --target xnnpack --emit-tosa " + folder_.string()).err,
              HasSubstr("delegates for xnnpack hold no TOSA graphs"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "m.pte"));
}

}  // namespace
}  // namespace isthmus::vela_test
