// The law of forms: whatever the attributes, an op with a form runs in the delegate and computes what it computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "interpret/interpreter.h"
#include "support/form_case.h"

namespace isthmus::xnnpack_forms_law_slow_test {
namespace {

using test::Build;
using test::Case;
using test::Numbers;
using test::Sizes;

constexpr unsigned kSeeds = 100;  // of each kind

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}

  // From least up to and including most.
  std::int64_t between(std::int64_t min, std::int64_t max) {
    return std::uniform_int_distribution<std::int64_t>(min, max)(engine_);
  }
  bool flip() { return between(0, 1) == 1; }
  Ints list(std::size_t count, std::int64_t min, std::int64_t max) {
    Ints result(count);
    for (std::int64_t& number : result) number = between(min, max);
    return result;
  }
  Sizes sizes(std::size_t rank, std::int64_t min, std::int64_t max) {
    Sizes result = list(rank, min, max);
    result[0] = between(1, 4);
    return result;
  }

 private:
  std::mt19937 engine_;
};

// A kind of op with random attributes; nothing where the op does not allow them.
struct Kind {
  const char* name;
  std::size_t rank;
  std::int64_t min, max;  // of the sizes
  Numbers numbers;
  std::function<std::optional<ValueId>(Build&, Random&)> make;
};
std::ostream& operator<<(std::ostream& stream, const Kind& kind) { return stream << kind.name; }

std::optional<ValueId> made(Expected<ValueId> value) { return value ? std::optional(*value) : std::nullopt; }

// Positions with some order in them: runs, repeats, patterns, or none at all.
Ints positions(Random& random, std::int64_t size) {
  Ints result;
  const std::int64_t parts = random.between(1, 5);
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t length = random.between(1, 12);
    const std::int64_t first = random.between(0, size - 1);
    const std::int64_t step = random.between(-3, 3);
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t position = first + i * step;
      if (position >= 0 && position < size) result.push_back(position);
    }
  }
  const std::int64_t times = random.flip() ? 1 : random.between(2, 9);
  const std::int64_t shift = random.between(0, 4);
  Ints again = result;
  for (std::int64_t i = 1; i < times; ++i) {
    for (std::int64_t& position : again) position += shift;
    if (*std::ranges::max_element(again) >= size) break;
    result.insert(result.end(), again.begin(), again.end());
  }
  return result;
}

std::int64_t some_axis(Build& build, Random& random) {
  return random.between(1, static_cast<std::int64_t>(build.rank()) - 1);
}

std::optional<ValueId> index_select(Build& build, Random& random) {
  const std::int64_t axis = some_axis(build, random);
  const Ints picked = positions(random, build.size(static_cast<std::size_t>(axis)).value());
  const ValueId index = build.integers({static_cast<std::int64_t>(picked.size())}, picked);
  return made(build.try_emit(Op::kIndexSelect, AxisAttrs{axis}, {build.x, index}));
}

std::optional<ValueId> slice(Build& build, Random& random) {
  const std::int64_t axis = some_axis(build, random);
  const std::int64_t size = build.size(static_cast<std::size_t>(axis)).value();
  const std::int64_t start = random.between(0, size - 1);
  const SliceAttrs attrs{axis, start, random.between(start + 1, size), random.between(1, 5)};
  return made(build.try_emit(Op::kSlice, attrs, {build.x}));
}

std::optional<ValueId> flip(Build& build, Random& random) {
  return made(build.try_emit(Op::kFlip, AxesAttrs{{some_axis(build, random)}}, {build.x}));
}

std::optional<ValueId> pad(Build& build, Random& random) {
  PadAttrs attrs{random.flip() ? PadMode::kReflect : PadMode::kReplicate, random.list(4, 0, 6), random.list(4, 0, 6),
                 0};
  attrs.before[0] = attrs.after[0] = 0;
  return made(build.try_emit(Op::kPad, attrs, {build.x}));
}

std::optional<ValueId> nearest(Build& build, Random& random) {
  const ResizeMode mode = random.flip() ? ResizeMode::kNearest : ResizeMode::kNearestExact;
  return made(build.try_emit(Op::kResize2d,
                             ResizeAttrs{mode, {random.between(1, 20), random.between(1, 20)}, {}, false}, {build.x}));
}

std::optional<ValueId> resize(Build& build, Random& random) {
  ResizeAttrs attrs{random.flip() ? ResizeMode::kLinear : ResizeMode::kCubic,
                    {random.between(1, 20), random.between(1, 20)},
                    {},
                    random.flip()};
  if (!attrs.align_corners && random.flip()) {
    attrs.scales = {static_cast<double>(random.between(5, 40)) / 10, static_cast<double>(random.between(5, 40)) / 10};
  }
  return made(build.try_emit(Op::kResize2d, attrs, {build.x}));
}

// Half of the kernel or less on each side.
Ints some_padding(Random& random, const Ints& kernel) {
  Ints result;
  for (const std::int64_t size : kernel) {
    result.push_back(random.between(0, size / 2));
    result.push_back(random.between(0, size / 2));
  }
  return result;
}

template <Op op, std::size_t axes>
std::optional<ValueId> max_pool(Build& build, Random& random) {
  MaxPoolAttrs attrs;
  attrs.kernel = random.list(axes, 1, 4);
  attrs.stride = random.list(axes, 1, 5);
  attrs.padding = some_padding(random, attrs.kernel);
  attrs.dilation = random.list(axes, 1, 3);
  attrs.ceil_mode = random.flip();
  return made(build.try_emit(op, attrs, {build.x}));
}

template <Op op, std::size_t axes>
std::optional<ValueId> avg_pool(Build& build, Random& random) {
  AvgPoolAttrs attrs;
  attrs.kernel = random.list(axes, 1, 4);
  attrs.stride = random.list(axes, 1, 5);
  attrs.padding = some_padding(random, attrs.kernel);
  attrs.ceil_mode = random.flip();
  attrs.count_include_pad = random.flip();
  attrs.divisor = random.between(0, 3);
  return made(build.try_emit(op, attrs, {build.x}));
}

template <Op op>
std::optional<ValueId> adaptive_pool(Build& build, Random& random) {
  return made(build.try_emit(op, SizeAttrs{{random.between(1, 9), random.between(1, 9)}}, {build.x}));
}

template <Op op, std::size_t axes>
std::optional<ValueId> transposed_conv(Build& build, Random& random) {
  const std::int64_t inputs = build.size(1).value();
  const std::int64_t groups = inputs % 2 == 0 && random.flip() ? 2 : 1;
  const std::int64_t outputs = random.between(1, 3);
  Sizes filters{inputs, outputs};
  const Ints kernel = random.list(axes, 1, 3);
  filters.insert(filters.end(), kernel.begin(), kernel.end());
  const ConvTransposeAttrs attrs{random.list(axes, 1, 3), random.list(2 * axes, -2, 2), random.list(axes, 1, 3),
                                 groups};
  return made(build.try_emit(op, attrs, {build.x, build.floats(filters), build.floats({outputs * groups})}));
}

std::optional<ValueId> conv3d(Build& build, Random& random) {
  const std::int64_t inputs = build.size(1).value();
  const std::int64_t groups = inputs % 2 == 0 && random.flip() ? 2 : 1;
  const std::int64_t outputs = groups * random.between(1, 3);
  Sizes filters{outputs, inputs / groups};
  const Ints kernel = random.list(3, 1, 3);
  filters.insert(filters.end(), kernel.begin(), kernel.end());
  const ConvAttrs attrs{random.list(3, 1, 3), random.list(6, 0, 2), random.list(3, 1, 2), groups};
  return made(build.try_emit(Op::kConv3d, attrs, {build.x, build.floats(filters), build.floats({outputs})}));
}

template <Op op>
std::optional<ValueId> reduction(Build& build, Random& random) {
  ReduceAttrs attrs{{}, random.flip()};
  for (std::int64_t axis = 1; axis < static_cast<std::int64_t>(build.rank()); ++axis) {
    if (random.flip()) attrs.axes.push_back(axis);
  }
  if (attrs.axes.empty()) return std::nullopt;
  return made(build.try_emit(op, attrs, {build.x}));
}

template <Op op>
std::optional<ValueId> along(Build& build, Random& random) {
  return made(build.try_emit(op, AxisAttrs{some_axis(build, random)}, {build.x}));
}

const Kind kKinds[] = {
    {"index_select", 3, 1, 40, Numbers::kExact, index_select},
    {"slice", 4, 1, 20, Numbers::kCopied, slice},
    {"flip", 4, 1, 40, Numbers::kCopied, flip},
    {"pad", 4, 1, 9, Numbers::kCopied, pad},
    {"nearest", 4, 1, 12, Numbers::kCopied, nearest},
    {"resize", 4, 1, 9, Numbers::kRounded, resize},
    {"max_pool2d", 4, 1, 12, Numbers::kCopied, max_pool<Op::kMaxPool2d, 2>},
    {"max_pool3d", 5, 1, 8, Numbers::kCopied, max_pool<Op::kMaxPool3d, 3>},
    {"avg_pool2d", 4, 1, 12, Numbers::kRounded, avg_pool<Op::kAvgPool2d, 2>},
    {"avg_pool3d", 5, 1, 8, Numbers::kRounded, avg_pool<Op::kAvgPool3d, 3>},
    {"adaptive_max_pool2d", 4, 1, 15, Numbers::kCopied, adaptive_pool<Op::kAdaptiveMaxPool2d>},
    {"adaptive_avg_pool2d", 4, 1, 15, Numbers::kRounded, adaptive_pool<Op::kAdaptiveAvgPool2d>},
    {"conv_transpose2d", 4, 4, 6, Numbers::kRounded, transposed_conv<Op::kConvTranspose2d, 2>},
    {"conv_transpose3d", 5, 4, 5, Numbers::kRounded, transposed_conv<Op::kConvTranspose3d, 3>},
    {"conv3d", 5, 4, 6, Numbers::kRounded, conv3d},
    {"amax", 4, 1, 6, Numbers::kCopied, reduction<Op::kAmax>},
    {"amin", 4, 1, 6, Numbers::kCopied, reduction<Op::kAmin>},
    {"sum", 4, 1, 5, Numbers::kPositive, reduction<Op::kSum>},
    {"mean", 4, 1, 5, Numbers::kPositive, reduction<Op::kMean>},
    {"logsumexp", 4, 1, 5, Numbers::kPositive, reduction<Op::kLogsumexp>},
    {"cumsum", 3, 1, 20, Numbers::kPositive, along<Op::kCumsum>},
    {"cumprod", 3, 1, 6, Numbers::kRounded, along<Op::kCumprod>},
    {"log_softmax", 3, 1, 12, Numbers::kRounded, along<Op::kLogSoftmax>},
};

class XnnpackFormLaws : public testing::TestWithParam<Kind> {};

TEST_P(XnnpackFormLaws, FormsComputeWhatTheOpComputes) {
  const Kind& kind = GetParam();
  unsigned tried = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const Sizes sizes = random.sizes(kind.rank, kind.min, kind.max);
    const bool is_symbolic = random.flip();
    Build build(sizes, is_symbolic);
    const auto result = kind.make(build, random);
    if (!result) continue;
    const Case row{kind.name, sizes, kind.numbers, nullptr};
    const Graph graph = std::move(build).finish(*result);
    if (!interpret(graph, std::vector{input_of(sizes, row, sizes[0])})) continue;  // windows of nothing but padding
    ++tried;
    expect_delegated(graph, row, {sizes[0]});
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(tried, kSeeds / 8);
}

INSTANTIATE_TEST_SUITE_P(Kinds, XnnpackFormLaws, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace isthmus::xnnpack_forms_law_slow_test
