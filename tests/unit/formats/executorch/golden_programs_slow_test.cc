// Program files that ExecuTorch made, against what its own runtime answered. Needs the wider data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engines/xnnpack/thread_pool.h"
#include "program/run/method.h"
#include "support/models.h"

namespace isthmus::golden_programs_slow_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class GoldenPrograms : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_)) GTEST_SKIP() << "no " << folder_;
  }

  // The single output, which must not depend on the number of threads.
  Tensor output(const std::string& name, const std::string& input) {
    const Tensor one = output(name, input, 1);
    const Tensor two = output(name, input, 2);
    EXPECT_TRUE(std::ranges::equal(one.bytes(), two.bytes())) << "threads change " << name;
    return one;
  }
  Tensor recorded(const std::string& name) const { return test::read_tensor(folder_ / (name + ".out.npy")); }

  const std::filesystem::path folder_ = test::shared_dir() / "golden";
  run::Statistics statistics_;  // of the last run

 private:
  Tensor output(const std::string& name, const std::string& input, std::size_t threads) {
    const xnnpack::ThreadPool pool(threads);
    auto method =
        run::Method::load(*map_file((folder_ / (name + ".pte")).string()), "forward", {.threads = pool.get()});
    if (!method) throw std::runtime_error(method.error().text());
    const auto outputs = method->run(std::vector{test::read_tensor(folder_ / input)});
    if (!outputs) throw std::runtime_error(outputs.error().text());
    statistics_ = method->statistics();
    return *outputs->front();
  }
};

double decibels(const Tensor& found, const Tensor& expected) {
  const std::vector<double> a = test::doubles(found);
  const std::vector<double> b = test::doubles(expected);
  double signal = 0;
  double noise = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    signal += b[i] * b[i];
    noise += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return noise == 0 ? 999 : 10 * std::log10(signal / noise);
}

std::ptrdiff_t top_1(const Tensor& scores) {
  const std::vector<double> numbers = test::doubles(scores);
  return std::ranges::max_element(numbers) - numbers.begin();
}

TEST_F(GoldenPrograms, MobileNetBitForBit) {
  const Tensor found = output("mobilenet_v2_xnnpack_q8", "image.npy");
  EXPECT_TRUE(std::ranges::equal(found.bytes(), recorded("mobilenet_v2_xnnpack_q8").bytes()));
  EXPECT_EQ(statistics_.delegate_calls, 1u);
  EXPECT_EQ(statistics_.host_calls, 0u);
}

TEST_F(GoldenPrograms, TokensBitForBit) {
  const Tensor found = output("vit_tokens_xnnpack_fixed", "tokens_image.npy");
  EXPECT_TRUE(std::ranges::equal(found.bytes(), recorded("vit_tokens_xnnpack_fixed").bytes()));
}

TEST_F(GoldenPrograms, DeitKeepsItsTop1) {
  const Tensor found = output("deit_tiny_xnnpack_q8", "image.npy");
  const Tensor expected = recorded("deit_tiny_xnnpack_q8");
  EXPECT_EQ(top_1(found), top_1(expected));
  EXPECT_GE(decibels(found, expected), 30);
  EXPECT_EQ(statistics_.delegate_calls, 62u);
  EXPECT_EQ(statistics_.host_calls, 110u);
  EXPECT_EQ(statistics_.io_calls, 0u);
}

TEST_F(GoldenPrograms, RevertedTokensAreRejectedWithOwnMessages) {
  const auto method = run::Method::load(*map_file((folder_ / "vit_tokens_xnnpack_reverted.pte").string()));
  ASSERT_FALSE(method.has_value());
  EXPECT_THAT(method.error().text(),
              AllOf(HasSubstr("static_transpose"), HasSubstr("zero point -6"), HasSubstr("zero point -15")));
}

TEST_F(GoldenPrograms, OtherBackendsAreRefusedByName) {
  const auto method = run::Method::load(*map_file((folder_ / "emg_u55_v2_fixed.pte").string()));
  ASSERT_FALSE(method.has_value());
  EXPECT_THAT(method.error().text(), HasSubstr("EthosUBackend"));
}

}  // namespace
}  // namespace isthmus::golden_programs_slow_test
