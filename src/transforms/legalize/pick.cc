// Finds runs and patterns among positions, and writes them with slices, joins and reshapes.
#include "transforms/legalize/pick.h"

#include <algorithm>
#include <iterator>

#include "ops/known.h"

namespace isthmus::rewrites {
namespace {

constexpr std::size_t kFewRuns = 5;       // of which one cat makes the result
constexpr std::size_t kMaxRuns = 64;      // more copies than that cost more than a product
constexpr std::size_t kMaxPeriod = 64;    // longer patterns are not looked for
constexpr std::int64_t kMaxSingles = 10;  // elements of an axis that are reversed one by one
constexpr std::int64_t kCopiesAtOnce = 5;

// Positions first, first + step, ...
struct Run {
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t count = 1;
};

// The longest runs from left to right.
std::vector<Run> runs_of(const Ints& positions) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < positions.size();) {
    Run run{positions[i], i + 1 < positions.size() ? positions[i + 1] - positions[i] : 1, 1};
    for (++i; i < positions.size() && positions[i] == positions[i - 1] + run.step; ++i) ++run.count;
    if (run.count == 1) run.step = 1;
    runs.push_back(run);
  }
  return runs;
}

// Each position lies `step` behind the one that stands `length` places before it.
struct Period {
  std::size_t length = 1;
  std::int64_t step = 0;
};

// The shortest one that comes at least twice.
std::optional<Period> period_of(const Ints& positions) {
  for (std::size_t length = 1; length <= std::min(kMaxPeriod, positions.size() / 2); ++length) {
    const std::int64_t step = positions[length] - positions[0];
    bool is_even = step >= 0;
    for (std::size_t i = 0; is_even && i + length < positions.size(); ++i) {
      is_even = positions[i + length] - positions[i] == step;
    }
    if (is_even) return Period{length, step};
  }
  return std::nullopt;
}

// A value with room for more axes: those before and those behind the one that is worked on are made one each where
// there are too many.
struct Frame {
  ValueId value;
  std::int64_t axis;
  Shape shape;             // before
  std::int64_t real_axis;  // before
};

Expected<Frame> framed(const Site& site, ValueId x, std::int64_t axis, std::size_t more) {
  Emitter& emitter = site.emitter;
  const Shape shape = emitter.shape(x);
  if (shape.size() + more <= site.target.max_rank) return Frame{x, axis, shape, axis};
  const auto at = shape.begin() + axis;
  const Shape merged{emitter.exprs().product(Shape(shape.begin(), at)), *at,
                     emitter.exprs().product(Shape(at + 1, shape.end()))};
  return Frame{TRY(emitter.reshape(x, merged)), 1, shape, axis};
}
// The axis, whatever has become of it, in its place again.
Expected<ValueId> unframed(Emitter& emitter, const Frame& frame, ValueId x, std::int64_t size) {
  return emitter.reshape(x, with_axis(frame.shape, frame.real_axis, {Dim(size)}));
}

Expected<ValueId> reversed_one_by_one(Emitter& emitter, ValueId x, std::int64_t axis) {
  std::vector<ValueId> parts;
  for (std::int64_t i = emitter.size(x, axis).value(); i-- > 0;) {
    parts.push_back(TRY(emitter.slice(x, axis, i, i + 1)));
  }
  return emitter.cat(std::move(parts), axis);
}

// The greatest part of a size that can be reversed one by one; 1 where there is none.
std::int64_t small_factor(std::int64_t size) {
  std::int64_t factor = kMaxSingles;
  while (size % factor != 0) --factor;
  return factor;
}

class Picker {
 public:
  Picker(const Site& site, ValueId x, std::int64_t axis)
      : site_(site), emitter_(site.emitter), x_(x), axis_(axis), size_(emitter_.size(x, axis).value()) {}

  Replacement run(const Ints& positions) {
    const std::vector<Run> runs = runs_of(positions);
    if (runs.size() == 1) return one(runs[0]);
    const auto period = period_of(positions);
    const bool has_blocks = period && can_reshape(emitter_.shape(x_));
    if (has_blocks && fits(positions, *period)) return in_blocks(positions, *period);
    if (runs.size() <= kFewRuns) return joined(runs);
    if (period && period->step == 0) return again_and_again(positions, *period);
    if (has_blocks && emitter_.shape(x_).size() < site_.target.max_rank && positions.size() % period->length == 0 &&
        period->length < runs.size()) {
      return side_by_side(positions, *period);
    }
    if (runs.size() <= kMaxRuns) return joined(runs);
    return by_product(positions);
  }

 private:
  Replacement one(const Run& run) {
    if (run.step == 1) return replaced_by(emitter_.slice(x_, axis_, run.first, run.first + run.count));
    if (run.step == 0) {
      return replaced_by(
          repeated(emitter_, TRY(emitter_.slice(x_, axis_, run.first, run.first + 1)), axis_, run.count));
    }
    if (run.step < 0) {
      const auto forward = TRY(one({run.first + run.step * (run.count - 1), -run.step, run.count}));
      return forward ? reversed(site_, *forward, axis_) : Replacement(forward);
    }
    Ints positions(static_cast<std::size_t>(run.count));
    for (std::size_t i = 0; i < positions.size(); ++i) {
      positions[i] = run.first + run.step * static_cast<std::int64_t>(i);
    }
    if (can_reshape(emitter_.shape(x_))) return in_blocks(positions, {1, run.step});
    if (positions.size() > kMaxRuns) return by_product(positions);
    std::vector<ValueId> parts;
    for (const std::int64_t position : positions) {
      parts.push_back(TRY(emitter_.slice(x_, axis_, position, position + 1)));
    }
    return replaced_by(emitter_.cat(std::move(parts), axis_));
  }

  Replacement joined(const std::vector<Run>& runs) {
    std::vector<ValueId> parts;
    for (const Run& run : runs) {
      const auto part = TRY(one(run));
      if (!part) return part;
      parts.push_back(*part);
    }
    return replaced_by(emitter_.cat(std::move(parts), axis_));
  }

  static Ints pattern_of(const Ints& positions, const Period& period) {
    return {positions.begin(), positions.begin() + static_cast<std::ptrdiff_t>(period.length)};
  }
  // How often the pattern comes, the last time perhaps not to its end.
  static std::int64_t times(const Ints& positions, const Period& period) {
    return static_cast<std::int64_t>((positions.size() + period.length - 1) / period.length);
  }
  // Whether the axis can be cut into blocks of the period's step so that each holds one pattern.
  static bool fits(const Ints& positions, const Period& period) {
    const auto [min, max] = std::ranges::minmax(pattern_of(positions, period));
    return max - min < period.step;
  }

  // Cuts the axis into blocks and takes the same positions of each. A last block that is not whole is filled up.
  Replacement in_blocks(const Ints& positions, const Period& period) {
    Ints pattern = pattern_of(positions, period);
    const auto [min, max] = std::ranges::minmax(pattern);
    const std::int64_t blocks = times(positions, period);
    const std::int64_t needed = blocks * period.step;
    // Preferably blocks that need no filling.
    const std::int64_t latest = size_ - needed;
    std::int64_t start = min;
    if (latest < min && latest >= 0 && max - latest < period.step) start = latest;
    const Frame frame = TRY(framed(site_, x_, axis_, 1));
    ValueId value = TRY(emitter_.slice(frame.value, frame.axis, start, std::min(size_, start + needed)));
    if (start + needed > size_) value = TRY(padded(emitter_, value, frame.axis, {0, start + needed - size_}));
    value = TRY(emitter_.reshape(value, with_axis(emitter_.shape(value), frame.axis, {blocks, period.step})));
    for (std::int64_t& position : pattern) position -= start;
    const auto picked = TRY(pick(site_, value, frame.axis + 1, pattern));
    if (!picked) return picked;
    value = TRY(unframed(emitter_, frame, *picked, blocks * std::ssize(pattern)));
    return replaced_by(emitter_.slice(value, axis_, 0, std::ssize(positions)));
  }

  Replacement again_and_again(const Ints& positions, const Period& period) {
    const auto pattern = TRY(pick(site_, x_, axis_, pattern_of(positions, period)));
    if (!pattern) return pattern;
    const ValueId whole = TRY(repeated(emitter_, *pattern, axis_, times(positions, period)));
    return replaced_by(emitter_.slice(whole, axis_, 0, std::ssize(positions)));
  }

  // Patterns that overlap: each of their places by itself, then all of them side by side.
  Replacement side_by_side(const Ints& positions, const Period& period) {
    std::vector<ValueId> parts;
    for (std::size_t i = 0; i < period.length; ++i) {
      const auto part = TRY(one({positions[i], period.step, times(positions, period)}));
      if (!part) return part;
      parts.push_back(TRY(unsqueeze(emitter_, *part, axis_ + 1)));
    }
    const ValueId whole = TRY(emitter_.cat(std::move(parts), axis_ + 1));
    return replaced_by(emitter_.reshape(whole, with_axis(emitter_.shape(x_), axis_, {std::ssize(positions)})));
  }

  Replacement by_product(const Ints& positions) {
    if (size_ > kMaxWeights / static_cast<std::int64_t>(positions.size())) return unchanged();
    std::vector<double> matrix(positions.size() * static_cast<std::size_t>(size_), 0);
    for (std::size_t i = 0; i < positions.size(); ++i) {
      matrix[i * static_cast<std::size_t>(size_) + static_cast<std::size_t>(positions[i])] = 1;
    }
    return replaced_by(product_along(emitter_, x_, axis_, matrix));
  }

  const Site& site_;
  Emitter& emitter_;
  ValueId x_;
  std::int64_t axis_;
  std::int64_t size_;
};

}  // namespace

bool can_reshape(const Shape& shape) {
  return std::ranges::count_if(shape, [](Dim dim) { return !dim.is_fixed(); }) <= 1;
}

Replacement pick(const Site& site, ValueId x, std::int64_t axis, const Ints& positions) {
  if (!site.emitter.size(x, axis).is_fixed() || positions.empty()) return unchanged();
  return Picker(site, x, axis).run(positions);
}

// By the digits of the positions: an axis that is a grid of short ones is backwards when each of those is.
Replacement reversed(const Site& site, ValueId x, std::int64_t axis) {
  Emitter& emitter = site.emitter;
  if (!emitter.size(x, axis).is_fixed()) return unchanged();
  const std::int64_t size = emitter.size(x, axis).value();
  if (size <= kMaxSingles) return replaced_by(reversed_one_by_one(emitter, x, axis));
  if (!can_reshape(emitter.shape(x))) return unchanged();
  const Frame frame = TRY(framed(site, x, axis, 2));
  const Shape whole = emitter.shape(frame.value);
  const auto split = [&](ValueId value, const Shape& sizes) {
    return emitter.reshape(value, with_axis(whole, frame.axis, sizes));
  };
  std::int64_t rest = size;
  std::int64_t done = 1;  // the size of the blocks that are backwards already
  ValueId value = TRY(split(frame.value, {rest, done}));
  while (rest > kMaxSingles) {
    if (small_factor(rest) == 1) {
      // What is put in front ends up behind, where it is cut off.
      value = TRY(padded(emitter, value, frame.axis, {1, 0}));
      ++rest;
    }
    const std::int64_t factor = small_factor(rest);
    rest /= factor;
    value = TRY(reversed_one_by_one(emitter, TRY(split(value, {rest, factor, done})), frame.axis + 1));
    done *= factor;
    value = TRY(split(value, {rest, done}));
  }
  value = TRY(reversed_one_by_one(emitter, value, frame.axis));
  return replaced_by(emitter.slice(TRY(unframed(emitter, frame, value, rest * done)), axis, 0, size));
}

Expected<ValueId> repeated(Emitter& emitter, ValueId x, std::int64_t axis, std::int64_t count) {
  if (count <= kCopiesAtOnce) return emitter.cat(std::vector<ValueId>(static_cast<std::size_t>(count), x), axis);
  const ValueId many = TRY(repeated(emitter, x, axis, count / kCopiesAtOnce));
  ValueId result = TRY(repeated(emitter, many, axis, kCopiesAtOnce));
  if (count % kCopiesAtOnce == 0) return result;
  return emitter.cat({result, TRY(repeated(emitter, x, axis, count % kCopiesAtOnce))}, axis);
}

Expected<ValueId> padded(Emitter& emitter, ValueId x, std::int64_t axis, Sides sides, double value) {
  if (sides.before == 0 && sides.after == 0) return x;
  PadAttrs attrs{PadMode::kConstant, Ints(emitter.shape(x).size(), 0), Ints(emitter.shape(x).size(), 0), value};
  attrs.before[static_cast<std::size_t>(axis)] = sides.before;
  attrs.after[static_cast<std::size_t>(axis)] = sides.after;
  return emitter.emit(Op::kPad, std::move(attrs), {x});
}

Expected<Moved> moved_last(Emitter& emitter, ValueId x, std::int64_t axis) {
  Ints order, back;
  for (std::int64_t i = 0; i < emitter.rank(x); ++i) {
    if (i != axis) order.push_back(i);
    back.push_back(i == axis ? emitter.rank(x) - 1 : i - (i > axis ? 1 : 0));
  }
  order.push_back(axis);
  return Moved{TRY(emitter.permute(x, std::move(order))), std::move(back)};
}

Expected<ValueId> product_along(Emitter& emitter, ValueId x, std::int64_t axis, const std::vector<double>& matrix) {
  const std::int64_t from = emitter.size(x, axis).value();
  const std::int64_t to = static_cast<std::int64_t>(matrix.size()) / from;
  const ValueId weights = emitter.floats(matrix, DType::kF32, {to, from});
  const Moved moved = TRY(moved_last(emitter, x, axis));
  return emitter.permute(TRY(emitter.emit(Op::kLinear, NoAttrs{}, {moved.value, weights})), moved.back);
}

}  // namespace isthmus::rewrites
