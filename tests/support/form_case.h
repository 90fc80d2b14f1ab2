// Small graphs of one input that should run in the delegate as a whole, for tests of its forms.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <ostream>
#include <random>
#include <vector>

#include "interpret/tensor.h"
#include "ir/graph.h"
#include "ops/emitter.h"

namespace isthmus::test {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Sizes = std::vector<std::int64_t>;

// A graph of one input, whose first size may be symbolic.
class Build {
 public:
  Build(const Sizes& sizes, bool is_symbolic, std::int64_t min = 1) : emitter_(graph_) {
    Shape shape(sizes.begin(), sizes.end());
    if (is_symbolic) {
      graph_.exprs().declare({"s0", min, 8, min + 1});
      shape[0] = graph_.exprs().symbol("s0");
    }
    x = graph_.add_input("x", {DType::kF32, shape});
  }

  Expected<ValueId> try_emit(Op op, Attrs attrs, std::vector<ValueId> inputs) {
    return emitter_.emit(op, std::move(attrs), std::move(inputs));
  }
  ValueId emit(Op op, Attrs attrs, std::vector<ValueId> inputs) {
    const auto made = try_emit(op, std::move(attrs), std::move(inputs));
    CHECK(made.has_value(), made ? "" : made.error().text());
    return *made;
  }
  ValueId of_x(Op op, Attrs attrs = NoAttrs{}) { return emit(op, std::move(attrs), {x}); }
  ValueId floats(const Sizes& sizes) {
    Tensor tensor(DType::kF32, sizes);
    for (float& number : tensor.mutable_data<float>()) number = next();
    return emitter_.constant(tensor.view());
  }
  ValueId integers(const Sizes& sizes, const Ints& numbers) {
    Tensor tensor(DType::kI64, sizes);
    std::copy(numbers.begin(), numbers.end(), tensor.mutable_data<std::int64_t>().begin());
    return emitter_.constant(tensor.view());
  }
  ValueId bools(const Sizes& sizes) {
    Tensor tensor(DType::kBool, sizes);
    for (std::uint8_t& boolean : tensor.mutable_data<std::uint8_t>()) boolean = next() > 0 ? 1 : 0;
    return emitter_.constant(tensor.view());
  }
  ValueId number(double value) { return emitter_.scalar(value, DType::kF32); }
  Dim size(std::size_t axis) const { return graph_.type(x).shape[axis]; }
  std::size_t rank() const { return graph_.type(x).rank(); }
  Exprs& exprs() { return graph_.exprs(); }

  Graph finish(ValueId result) && {
    graph_.add_output({result, OutputKind::kResult, {}});
    return std::move(graph_);
  }

  ValueId x;

 private:
  float next() { return std::uniform_real_distribution<float>(-1.5F, 1.5F)(random_); }

  Graph graph_;
  Emitter emitter_;
  std::mt19937 random_{7};
};

enum class Numbers : std::uint8_t {
  kCopied,    // exactly, infinities too
  kExact,     // exactly
  kRounded,   // to 2e-6 of the largest
  kPositive,  // the same, of positive numbers
};

struct Case {
  const char* name;
  Sizes sizes;
  Numbers numbers;
  std::function<ValueId(Build&)> make;
  bool has_batch = true;  // the first axis is not worked on
};
inline std::ostream& operator<<(std::ostream& stream, const Case& row) { return stream << row.name; }

// Numbers for the input of such a graph, with this first size where it is a batch.
Tensor input_of(Sizes sizes, const Case& row, std::int64_t batch);

testing::AssertionResult agree(const std::vector<std::optional<Tensor>>& found, const Tensor& expected,
                               Numbers numbers);

// All of the graph runs in one delegate and computes what it should, for each of these batches.
void expect_delegated(const Graph& graph, const Case& row, const std::vector<std::int64_t>& batches);

// The case with a fixed and with a symbolic batch.
void expect_delegated(const Case& row);

inline Case copies(const char* name, Sizes sizes, std::function<ValueId(Build&)> make) {
  return {name, std::move(sizes), Numbers::kCopied, std::move(make)};
}
inline Case exact(const char* name, Sizes sizes, std::function<ValueId(Build&)> make) {
  return {name, std::move(sizes), Numbers::kExact, std::move(make)};
}
inline Case rounded(const char* name, Sizes sizes, std::function<ValueId(Build&)> make) {
  return {name, std::move(sizes), Numbers::kRounded, std::move(make)};
}
inline Case without_batch(Case row) {
  row.has_batch = false;
  return row;
}

inline std::string name_of_case(const testing::TestParamInfo<Case>& info) { return info.param.name; }

}  // namespace isthmus::test
