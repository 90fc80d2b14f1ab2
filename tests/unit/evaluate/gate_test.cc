// What is switched off, and what is said then, on models that are made up.
#include "evaluate/gate.h"

#include <gmock/gmock.h>

#include "quantize/config/techniques.h"

namespace isthmus::gate_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A model of one number that is 1, and whose quantized form is off by what its techniques cost.
struct MadeUp {
  using Error = std::function<float(const QuantConfig&, bool is_held_out)>;
  explicit MadeUp(Error given) : error(std::move(given)) {}

  Error error;
  int attempts = 0;
  Diagnostics diagnostics;

  QuantConfig judge(const QuantConfig& config, bool tries_each, bool float_costs_time = false) {
    std::vector<Trial> trials;
    for (int i = 0; i < 8; ++i) {
      Tensor input(DType::kF32, {1}), wanted(DType::kF32, {1});
      input.mutable_data<float>()[0] = i == 0 ? 1.0F : 0.0F;
      wanted.mutable_data<float>()[0] = 1;
      trials.push_back({{input}, {wanted}, i == 0});
    }
    const Attempt attempt = [&](const QuantConfig& tried) -> Expected<Runner> {
      ++attempts;
      return Runner([this, tried](std::span<const Tensor> inputs) -> Expected<std::vector<std::optional<Tensor>>> {
        Tensor result(DType::kF32, {1});
        result.mutable_data<float>()[0] = 1 + error(tried, inputs[0].data<float>()[0] > 0);
        return std::vector<std::optional<Tensor>>{result};
      });
    };
    const GateOptions options{.tries_each = tries_each, .float_costs_time = float_costs_time};
    return without_harm(config, trials, attempt, options, diagnostics);
  }
};

TEST(Techniques, EachRowSwitchesOffItselfAlone) {
  QuantConfig all;
  all.promote = 3;
  for (std::size_t i = 0; i < techniques().size(); ++i) {
    QuantConfig config = all;
    EXPECT_TRUE(techniques()[i].is_on(config));
    techniques()[i].switch_off(config);
    std::vector<bool> expected(techniques().size(), true);
    expected[i] = false;
    EXPECT_EQ(techniques_on(config), expected);
    // The line that is offered to users means the same.
    const auto read = read_config(std::string(techniques()[i].off) + "\n", "quant.toml", all);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(techniques_on(*read), expected);
    EXPECT_TRUE(is_asked_for(techniques()[i], *read));
    EXPECT_FALSE(is_asked_for(techniques()[i], all));
  }
  EXPECT_EQ(techniques_on(plain_rounding(all)), std::vector<bool>(techniques().size(), false));
}

TEST(Gate, TheUsualCaseIsTwoAttempts) {
  MadeUp model{[](const QuantConfig& config, bool) { return config.equalize ? 0.01F : 0.02F; }};
  EXPECT_EQ(techniques_on(model.judge({}, false)), techniques_on({}));
  EXPECT_EQ(model.attempts, 2);
  EXPECT_THAT(model.diagnostics.entries(), IsEmpty());
}

TEST(Gate, HarmfulTechniquesAreSwitchedOffWithAMessage) {
  MadeUp model{[](const QuantConfig& config, bool) {
    return (config.bias_correction != BiasCorrection::kOff ? 0.5F : 0.0F) + (config.wide ? 0.01F : 0.02F);
  }};
  const QuantConfig found = model.judge({}, false);
  QuantConfig expected;
  expected.bias_correction = BiasCorrection::kOff;
  EXPECT_EQ(techniques_on(found), techniques_on(expected));
  ASSERT_THAT(model.diagnostics.entries(), SizeIs(1));
  EXPECT_EQ(model.diagnostics.entries()[0].code, "technique-off");
  EXPECT_EQ(model.diagnostics.entries()[0].text,
            "bias correction is switched off: output_0 has SQNR 5.8 dB with it and 40.0 dB without it, on 1 sample "
            "that calibration did not see; set `bias_correction` in quant.toml to keep it");
}

TEST(Gate, HarmfulTechniquesAreFoundBehindHelpfulOnes) {
  const auto error = [](const QuantConfig& config, bool) {
    return (config.front > 0 ? 0.01F : 0.4F) + (config.mse_weights ? 0.1F : 0.0F);
  };
  MadeUp hasty{error}, thorough{error};
  EXPECT_TRUE(hasty.judge({}, false).mse_weights);
  const QuantConfig found = thorough.judge({}, true);
  EXPECT_FALSE(found.mse_weights);
  EXPECT_GT(found.front, 0);
  EXPECT_THAT(thorough.diagnostics.entries(), SizeIs(1));
}

TEST(Gate, UselessTechniquesAreRestored) {
  // Only both together hurt; the first of them goes first, and nothing else may be missing in the end.
  MadeUp model{[](const QuantConfig& config, bool) {
    return config.range.estimator != find_estimator("minmax") && config.wide ? 0.5F : 0.01F;
  }};
  const QuantConfig found = model.judge({}, false);
  EXPECT_NE(found.range.estimator != find_estimator("minmax"), found.wide);
  EXPECT_THAT(model.diagnostics.entries(), SizeIs(1));
}

TEST(Gate, RequestedTechniquesStayWithAWarning) {
  MadeUp model{[](const QuantConfig& config, bool) { return config.equalize ? 0.5F : 0.01F; }};
  QuantConfig config;
  config.given = {"equalize"};
  EXPECT_EQ(techniques_on(model.judge(config, true)), techniques_on(config));
  ASSERT_THAT(model.diagnostics.entries(), testing::Not(IsEmpty()));
  EXPECT_EQ(model.diagnostics.entries()[0].code, "technique-hurts");
  EXPECT_THAT(model.diagnostics.entries()[0].text, HasSubstr("`equalize = false` in quant.toml switches it off"));
}

TEST(Gate, FloatLayersNeedAGainWhereTheyCostTime) {
  const auto gains = [](float without) {
    return [without](const QuantConfig& config, bool) { return config.front > 0 ? 0.01F : without; };
  };
  EXPECT_GT(MadeUp{gains(0.0102F)}.judge({}, false, false).front, 0);
  EXPECT_GT(MadeUp{gains(0.0110F)}.judge({}, false, true).front, 0);
  MadeUp useless{gains(0.0102F)};
  EXPECT_EQ(useless.judge({}, false, true).front, 0);
  ASSERT_THAT(useless.diagnostics.entries(), SizeIs(1));
  EXPECT_EQ(useless.diagnostics.entries()[0].code, "technique-off");
  EXPECT_THAT(useless.diagnostics.entries()[0].text, HasSubstr("gains less than 0.3 dB"));
}

TEST(Gate, LossWithinTheUncertaintyOfHeldOutSamplesIsNoHarm) {
  MadeUp model{[](const QuantConfig& config, bool is_held_out) {
    return config.equalize == is_held_out ? 0.02F : 0.01F;  // worse on 1 of 8, better on the others
  }};
  EXPECT_TRUE(model.judge({}, true).equalize);
}

TEST(Gate, LossBeyondTheUncertaintyOfHeldOutSamplesIsHarm) {
  MadeUp model{[](const QuantConfig& config, bool is_held_out) {
    return is_held_out && config.equalize ? 0.5F : 0.01F;  // 34 dB
  }};
  EXPECT_FALSE(model.judge({}, false).equalize);
  EXPECT_NEAR(chance_db(1'000'000), 0, 0.01);
  EXPECT_GT(chance_db(10), 2);
}

TEST(Gate, SeenSamplesRunWithSeparateStatistics) {
  // Only the model that was calibrated apart shows the harm.
  const auto runner = [](float error) {
    return Runner([error](std::span<const Tensor>) -> Expected<std::vector<std::optional<Tensor>>> {
      Tensor result(DType::kF32, {1});
      result.mutable_data<float>()[0] = 1 + error;
      return std::vector<std::optional<Tensor>>{result};
    });
  };
  Tensor one(DType::kF32, {1});
  one.mutable_data<float>()[0] = 1;
  const std::vector<Trial> trials{{{one}, {one}, true}, {{one}, {one}, false}};
  GateOptions options{.apart = [&](const QuantConfig& config) { return runner(config.equalize ? 0.5F : 0.01F); }};
  const Attempt attempt = [&](const QuantConfig&) { return runner(0.01F); };
  Diagnostics diagnostics;
  EXPECT_FALSE(without_harm({}, trials, attempt, options, diagnostics).equalize);
  ASSERT_THAT(diagnostics.entries(), SizeIs(1));
  EXPECT_THAT(diagnostics.entries()[0].text, HasSubstr("on 2 samples that calibration did not see"));
}

TEST(Gate, AttemptsThatFailDecideNothing) {
  Diagnostics diagnostics;
  const Attempt attempt = [](const QuantConfig&) -> Expected<Runner> { return bad_input("no"); };
  const std::vector<Trial> trials(1);
  EXPECT_EQ(techniques_on(without_harm({}, trials, attempt, {.tries_each = true}, diagnostics)), techniques_on({}));
  EXPECT_THAT(diagnostics.entries(), IsEmpty());
}

}  // namespace
}  // namespace isthmus::gate_test
