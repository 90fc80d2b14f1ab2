// The law of host kernels: whatever a program gives them, they compute or fail, and nothing worse.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "program/emit/memory_plan.h"
#include "program/run/method.h"
#include "targets/host/kernel.h"

namespace isthmus::host_kernels_law_test {
namespace {

// A program of one call with arguments that are mostly of the right kind and otherwise anything.
class RandomCall {
 public:
  explicit RandomCall(unsigned seed) : random_(seed) {}

  pte::Program make(const host::Kernel& kernel) {
    pte::Program program;
    program.constants.emplace_back();
    program.initial_values.emplace_back();
    plan_ = &program.plans.emplace_back();
    plan_->name = "forward";
    dtype_ = any_dtype();
    sizes_ = any_sizes();
    pte::KernelCall call;
    for (const char kind : kernel.arguments) call.args.push_back(argument(one_in(25) ? any_kind() : kind));
    std::vector<pte::ValueIndex> outs;
    const std::size_t count = kernel.writes_list ? static_cast<std::size_t>(1 + below(3)) : kernel.outs;
    for (std::size_t i = 0; i < count; ++i) outs.push_back(tensor(true));
    if (kernel.writes_list) outs = {add(pte::TensorList{outs})};
    call.args.insert(call.args.end(), outs.begin(), outs.end());
    if (outs.empty()) {
      call.args.push_back(one_in(4) ? tensor(true) : add(std::int64_t{0}));
    } else {
      call.args.push_back(outs.size() == 1 ? outs[0] : add(pte::TensorList{outs}));
    }
    plan_->operators.push_back(host::operator_of(kernel.name));
    plan_->chains.emplace_back().instructions.emplace_back(std::move(call));
    plan_memory(*plan_);
    return program;
  }

 private:
  std::int64_t below(std::int64_t count) { return static_cast<std::int64_t>(random_() % static_cast<unsigned>(count)); }
  bool one_in(std::int64_t count) { return below(count) == 0; }
  char any_kind() { return std::string_view("tolqnmijrbsIJRef")[static_cast<std::size_t>(below(16))]; }
  DType any_dtype() {
    static constexpr DType kAll[] = {DType::kF32,  DType::kF64, DType::kI64, DType::kI32,  DType::kI8,  DType::kU8,
                                     DType::kBool, DType::kF16, DType::kU16, DType::kBF16, DType::kF32, DType::kI64};
    return kAll[below(12)];
  }
  std::vector<std::int32_t> any_sizes() {
    std::vector<std::int32_t> sizes(static_cast<std::size_t>(one_in(3) ? below(6) : 4));
    for (std::int32_t& size : sizes) size = static_cast<std::int32_t>(one_in(8) ? 0 : 1 + below(4));
    return sizes;
  }
  std::int64_t any_integer() {
    static constexpr std::int64_t kOdd[] = {std::numeric_limits<std::int64_t>::min(),
                                            std::numeric_limits<std::int64_t>::max(), 1 << 30, -(1 << 30), 1000};
    return one_in(6) ? kOdd[below(5)] : below(8) - 2;
  }
  double any_real() {
    static constexpr double kOdd[] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(),
                                      1e300, -1e300, 0};
    return one_in(4) ? kOdd[below(5)] : static_cast<double>(below(16) - 4) / 4;
  }

  pte::ValueIndex add(pte::Value value) {
    plan_->values.push_back(std::move(value));
    return static_cast<pte::ValueIndex>(plan_->values.size() - 1);
  }
  pte::ValueIndex tensor(bool is_out) {
    pte::Tensor tensor;
    tensor.dtype = one_in(4) ? any_dtype() : dtype_;
    tensor.sizes = one_in(3) ? any_sizes() : sizes_;
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i) tensor.dim_order.push_back(static_cast<std::uint8_t>(i));
    if (one_in(5)) std::ranges::shuffle(tensor.dim_order, random_);
    if (is_out && !one_in(3)) tensor.dynamism = pte::Dynamism::kBounded;
    tensor.allocation = pte::Allocation{};
    return add(std::move(tensor));
  }
  pte::ValueIndex integers() {
    pte::IntList list;
    const std::int64_t count = one_in(2) ? 2 : below(6);
    for (std::int64_t i = 0; i < count; ++i) list.items.push_back(add(any_integer()));
    return add(std::move(list));
  }
  pte::ValueIndex argument(char kind) {
    switch (kind) {
      case 't':
        return tensor(false);
      case 'o':
        return one_in(2) ? add(pte::None{}) : tensor(false);
      case 'l':
        return add(pte::TensorList{{tensor(false), tensor(false)}});
      case 'q': {
        const pte::ValueIndex index = tensor(false);
        return add(pte::OptionalTensorList{{std::nullopt, index}});
      }
      case 'n':
        return one_in(2) ? add(any_real()) : add(any_integer());
      case 'm':
        return one_in(2) ? add(pte::None{}) : add(any_real());
      case 'j':
        return one_in(2) ? add(pte::None{}) : add(any_integer());
      case 'r':
        return add(any_real());
      case 'b':
        return add(one_in(2));
      case 's':
        return add(std::string(one_in(2) ? "trunc" : "tanh"));
      case 'I':
        return integers();
      case 'J':
        return one_in(3) ? add(pte::None{}) : integers();
      case 'R':
        return one_in(2) ? add(pte::None{}) : add(pte::DoubleList{{any_real(), any_real()}});
      case 'f':
        return one_in(2) ? add(pte::None{}) : add(below(16));
      case 'e':
        return add(below(16));
      default:
        return add(any_integer());
    }
  }

  std::mt19937 random_;
  pte::Plan* plan_ = nullptr;
  DType dtype_ = DType::kF32;
  std::vector<std::int32_t> sizes_;
};

TEST(HostKernelLaws, AnyArgumentsGiveAResultOrAnError) {
  constexpr unsigned kRounds = 400;
  run::LoadOptions options;
  options.max_bytes = 1 << 20;
  for (const host::Kernel& kernel : host::kernels()) {
    std::size_t computed = 0;
    for (unsigned seed = 0; seed < kRounds; ++seed) {
      SCOPED_TRACE(std::string(kernel.name) + ", seed " + std::to_string(seed));
      const pte::Program program = RandomCall(seed).make(kernel);
      const auto bytes = pte::write_program(program);
      ASSERT_TRUE(bytes) << bytes.error().text();
      auto method = run::Method::load(Blob(*bytes, nullptr), "forward", options);
      ASSERT_TRUE(method) << method.error().text();
      const auto found = method->run({});
      computed += found ? 1 : 0;
      if (!found) {
        EXPECT_NE(found.error().text().find(kernel.name), std::string::npos) << found.error().text();
      }
    }
    EXPECT_LT(computed, kRounds) << kernel.name << " took everything";
  }
}

}  // namespace
}  // namespace isthmus::host_kernels_law_test
