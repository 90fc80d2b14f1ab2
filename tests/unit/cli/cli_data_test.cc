// Data that do not fit the model, and what a user is told of them.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "formats/npy.h"
#include "support/command_line.h"
#include "support/models.h"
#include "support/zip_builder.h"

namespace isthmus::cli_data_test {
namespace {

using Cli = test::CommandLine;
using test::Finished;
using testing::HasSubstr;
using Json = nlohmann::json;

const std::string kData = "tests/models/fmnist";
const std::string kModel = kData + "/cnn.pt2";

// An array of one of the model's data files.
Tensor array_of(const std::string& file, const std::string& name) {
  Npz npz = *Npz::open(*map_file((test::source_dir() / kData / file).string()));
  return Tensor::from(*npz.read(*npz.find(name)));
}
Tensor copy_of(const Tensor& tensor) {
  Tensor copy(tensor.dtype(), tensor.sizes());
  std::ranges::copy(tensor.bytes(), copy.mutable_bytes().begin());
  return copy;
}
// Scaled, so that it can be written.
Tensor images(float factor) {
  Tensor result = copy_of(array_of("calib_32.npz", "input_0"));
  for (float& number : result.mutable_data<float>()) number *= factor;
  return result;
}

struct Named {
  std::string name;
  Tensor array;
};
std::string write_arrays(const std::filesystem::path& path, const std::vector<Named>& arrays) {
  std::vector<test::ZipItem> items;
  for (const Named& row : arrays) {
    const auto bytes = write_npy(row.array.view());
    items.push_back(
        {.name = row.name + ".npy", .data = std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size())});
  }
  std::ofstream(path, std::ios::binary) << test::build_zip(items);
  return path.string();
}

TEST_F(Cli, UnfitDataGivesAWarningAndALowSqnr) {
  Tensor spike = images(1);
  spike.mutable_data<float>()[3000] = 1e38F;
  const struct {
    std::string code;
    Tensor data;
  } cases[] = {{"outlier-input", spike}, {"constant-input", images(0)}, {"tiny-input", images(1e-40F)}};
  for (const auto& [code, data] : cases) {
    const Finished done =
        isthmus("compile " + kModel + " --target xnnpack --threads 1 --json --calibrate " +
                write_arrays(folder_ / "data.npz", {{"input_0", data}}) + " -o " + (folder_ / "m.pte").string());
    ASSERT_EQ(done.code, 0) << done.err;
    const Json json = Json::parse(done.out);
    ASSERT_EQ(json["warnings"].size(), 1U) << done.out;
    EXPECT_EQ(json["warnings"][0]["code"], code);
    EXPECT_LT(json["sqnr_db"][0]["db"], 5) << code;
    EXPECT_EQ(json["held_out_samples"], 1);
  }
}

// Statistics do not say which sample had the largest number, so no sample is named.
TEST_F(Cli, OutliersAreOfASampleOnlyWhereItIsKnown) {
  Tensor spike = images(1);
  spike.mutable_data<float>()[3000] = 1e38F;
  const std::string data = write_arrays(folder_ / "data.npz", {{"input_0", spike}});
  const std::string stats = (folder_ / "a.stats").string();
  ASSERT_EQ(isthmus("calibrate " + kModel + " --target xnnpack -q --data " + data + " -o " + stats).code, 0);
  for (const std::string& given : {data, stats}) {
    const Finished done = isthmus("compile " + kModel + " --target xnnpack --json --calibrate " + given + " -o " +
                                  (folder_ / "m.pte").string());
    ASSERT_EQ(done.code, 0) << done.err;
    const Json warnings = Json::parse(done.out)["warnings"];
    ASSERT_FALSE(warnings.empty()) << done.out;
    EXPECT_EQ(warnings[0]["code"], "outlier-input");
    const std::string text = warnings[0]["text"].get<std::string>();
    EXPECT_EQ(text.find("remove or repair sample 3") != std::string::npos, given == data) << text;
    EXPECT_EQ(text.find("repair") != std::string::npos, given == data) << text;
  }
}

TEST_F(Cli, ImagesThatAreNotNormalisedAreNamed) {
  const Finished done =
      isthmus("compile " + kModel + " --target xnnpack --threads 1 --json --calibrate " +
              write_arrays(folder_ / "data.npz", {{"input_0", images(100)}}) + " -o " + (folder_ / "m.pte").string());
  ASSERT_EQ(done.code, 0) << done.err;
  const Json json = Json::parse(done.out);
  EXPECT_EQ(json["warnings"][0]["code"], "unlike-example");
  EXPECT_EQ(json["held_out_samples"], 4);
  EXPECT_EQ(json["samples"], 28);
}

TEST_F(Cli, GoodDataGivesNoWarning) {
  const Finished done = isthmus("compile " + kModel + " --target xnnpack --threads 1 --calibrate " + kData +
                                "/calib_32.npz -o " + (folder_ / "m.pte").string());
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.err, Not(HasSubstr("warning")));
  EXPECT_THAT(done.out, HasSubstr(" dB, on the example inputs, which calibration did not see"));
}

TEST_F(Cli, WithoutOtherSamplesThereIsNoFigure) {
  const Finished done = isthmus("compile " + kModel + " --target xnnpack --json -o " + (folder_ / "m.pte").string());
  ASSERT_EQ(done.code, 0) << done.err;
  const Json json = Json::parse(done.out);
  EXPECT_EQ(json["sqnr_db"], Json::array());
  EXPECT_EQ(json["held_out_samples"], 0);
  EXPECT_THAT(json["why_no_sqnr"].get<std::string>(), HasSubstr("give samples with --calibrate"));
}

TEST_F(Cli, EvalRejectsInvalidDataAndLabels) {
  const std::string file = (folder_ / "m.pte").string();
  ASSERT_EQ(isthmus("compile " + kModel + " --target xnnpack --float -q -o " + file).code, 0);
  const auto evaluated = [&](const std::vector<Named>& arrays) {
    return isthmus("eval " + file + " --reference " + kModel + " --threads 1 --data " +
                   write_arrays(folder_ / "data.npz", arrays));
  };
  Tensor labels(DType::kI64, {32});
  EXPECT_EQ(evaluated({{"input_0", images(1)}, {"labels", labels}}).code, 0);
  const Finished missing = evaluated({{"input_0", images(1)}});
  EXPECT_EQ(missing.code, 0);
  EXPECT_THAT(missing.err, HasSubstr("[no-labels]"));
  EXPECT_THAT(missing.err, HasSubstr("has no array \"labels\": top-1 is not computed"));
  const Finished few = evaluated({{"input_0", images(1)}, {"labels", Tensor(DType::kI64, {31})}});
  EXPECT_EQ(few.code, 1);
  EXPECT_THAT(few.err, HasSubstr("31 labels are too few: 32 samples need 32"));
  labels.mutable_data<std::int64_t>()[7] = 10;
  const Finished outside = evaluated({{"input_0", images(1)}, {"labels", labels}});
  EXPECT_EQ(outside.code, 1);
  EXPECT_THAT(outside.err, HasSubstr("label 7 (of sample 7) is 10, but the first output has 10 classes, 0 to 9"));
  Tensor broken = images(1);
  broken.mutable_data<float>()[5 * 28 * 28] = std::numeric_limits<float>::infinity();
  const Finished infinite = evaluated({{"input_0", broken}});
  EXPECT_EQ(infinite.code, 1);
  EXPECT_THAT(infinite.err, HasSubstr("sample 5 of input 0 (x) has 0 NaN and 1 infinite values"));
}

}  // namespace
}  // namespace isthmus::cli_data_test
