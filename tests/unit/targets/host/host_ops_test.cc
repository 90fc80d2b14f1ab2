// Nodes that stay on the host: the calls that are written for them compute what the ops compute, for every size.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <regex>
#include <set>

#include "interpret/half.h"
#include "interpret/interpreter.h"
#include "ir/text.h"
#include "ops/emitter.h"
#include "support/compile.h"
#include "support/models.h"
#include "targets/host/kernel.h"
#include "targets/registry.h"

namespace isthmus::host_ops_test {
namespace {

using Sizes = std::vector<std::int64_t>;

// A graph with inputs of any type. Two sizes are symbolic: n of 1 to 8, and m of 2 to 5.
class Build {
 public:
  Build() : emitter_(graph_) {
    graph_.exprs().declare({"n", 1, 8, 2});
    graph_.exprs().declare({"m", 2, 5, 3});
    n = graph_.exprs().symbol("n");
    m = graph_.exprs().symbol("m");
  }

  ValueId input(DType dtype, Shape shape, double low = -4, double high = 4) {
    ranges_.push_back({low, high});
    return graph_.add_input("x" + std::to_string(ranges_.size()), {dtype, std::move(shape)});
  }
  ValueId emit(Op op, Attrs attrs, std::vector<ValueId> inputs) {
    auto made = emitter_.emit(op, std::move(attrs), std::move(inputs));
    CHECK(made.has_value(), made ? "" : made.error().text());
    return *made;
  }
  ValueId number(double value, DType dtype) { return emitter_.scalar(value, dtype); }
  Exprs& exprs() { return graph_.exprs(); }
  Graph& graph() { return graph_; }
  void output(ValueId id) { graph_.add_output({id, OutputKind::kResult, {}}); }

  std::vector<Tensor> inputs(const SymbolValues& symbols) const {
    std::mt19937 random(static_cast<unsigned>(symbols.at("n")));
    std::vector<Tensor> result;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      const TensorType& type = graph_.type(graph_.inputs()[i]);
      Sizes sizes;
      for (const Dim dim : type.shape) sizes.push_back(graph_.exprs().evaluate(dim, symbols).value());
      std::uniform_real_distribution<double> numbers(ranges_[i].first, ranges_[i].second);
      result.push_back(filled(type.dtype, std::move(sizes), [&] { return numbers(random); }));
    }
    return result;
  }

  Dim n = 0;
  Dim m = 0;

 private:
  static Tensor filled(DType dtype, Sizes sizes, const std::function<double()>& next) {
    Tensor tensor(is_half(dtype) ? DType::kF32 : dtype, std::move(sizes));
    dispatch(tensor.dtype(), [&]<class Number>(Number) {
      for (Number& number : tensor.mutable_data<Number>()) {
        const double drawn = next();
        number = dtype == DType::kBool ? Number(drawn > 0) : static_cast<Number>(std::floor(drawn * 8) / 8);
      }
    });
    return is_half(dtype) ? narrowed(tensor, dtype) : tensor;
  }

  Graph graph_;
  Emitter emitter_;
  std::vector<std::pair<double, double>> ranges_;
};

struct Case {
  std::string name;
  std::function<ValueId(Build&)> make;
};
std::ostream& operator<<(std::ostream& stream, const Case& row) { return stream << row.name; }

Case unary(Op op, DType dtype, double low = -4, double high = 4) {
  return {std::string(name_of(op)) + "_" + std::string(name_of(dtype)), [=](Build& b) {
            return b.emit(op, default_attrs(op), {b.input(dtype, {b.n, 3}, low, high)});
          }};
}
Case binary(Op op, DType dtype, double low = -4, double high = 4, const std::string& suffix = "") {
  return {std::string(name_of(op)) + "_" + std::string(name_of(dtype)) + suffix, [=](Build& b) {
            const ValueId a = b.input(dtype, {b.n, 1, 3});
            return b.emit(op, NoAttrs{}, {a, b.input(dtype, {4, 1}, low, high)});
          }};
}
// An op of one f64 input.
Case of_doubles(std::string name, Op op, Attrs attrs, const std::function<Shape(Build&)>& shape) {
  return {std::move(name), [=](Build& b) { return b.emit(op, attrs, {b.input(DType::kF64, shape(b))}); }};
}
Case of_integers(std::string name, Op op, Attrs attrs, const std::function<Shape(Build&)>& shape) {
  return {std::move(name), [=](Build& b) { return b.emit(op, attrs, {b.input(DType::kI64, shape(b))}); }};
}
const auto kMatrix = [](Build& b) { return Shape{b.n, 3, 4}; };
const auto kImage = [](Build& b) { return Shape{b.n, 4, 6, 7}; };

void add_elementwise(std::vector<Case>& cases) {
  using enum DType;
  for (const DType dtype : {kI64, kI32, kI16, kI8, kU8, kF64, kF16, kBF16}) {
    for (const Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kMinimum, Op::kMaximum, Op::kEq, Op::kNe, Op::kLt, Op::kLe,
                        Op::kGt, Op::kGe}) {
      cases.push_back(binary(op, dtype));
    }
    for (const Op op : {Op::kFloorDiv, Op::kTruncDiv, Op::kRemainder, Op::kFmod}) {
      cases.push_back(binary(op, dtype, 1, 4));
    }
    for (const Op op : {Op::kAbs, Op::kNeg, Op::kSign}) cases.push_back(unary(op, dtype));
    if (dtype == kU8) continue;
    for (const Op op : {Op::kFloorDiv, Op::kTruncDiv, Op::kRemainder, Op::kFmod}) {
      cases.push_back(binary(op, dtype, -5, -1, "_by_negatives"));
    }
  }
  // By zero too.
  for (const DType dtype : {kF64, kBF16}) {
    for (const Op op : {Op::kFloorDiv, Op::kTruncDiv, Op::kRemainder, Op::kFmod}) {
      cases.push_back(binary(op, dtype, -0.25, 0.25, "_by_zeros"));
    }
  }
  // Beyond what doubles hold.
  for (const Op op : {Op::kFloorDiv, Op::kTruncDiv, Op::kRemainder, Op::kFmod}) {
    cases.push_back({std::string(name_of(op)) + "_of_large_integers", [=](Build& b) {
                       const ValueId large = b.number(0x1p60, kI64);
                       const ValueId x = b.emit(Op::kAdd, NoAttrs{}, {b.input(kI64, {b.n, 3}), large});
                       return b.emit(op, NoAttrs{}, {x, b.input(kI64, {3}, -9, -2)});
                     }});
  }
  for (const DType dtype : {kI64, kI32}) {
    for (const Op op : {Op::kBitwiseAnd, Op::kBitwiseOr, Op::kBitwiseXor}) cases.push_back(binary(op, dtype));
    cases.push_back(unary(Op::kBitwiseNot, dtype));
  }
  for (const Op op : {Op::kLogicalAnd, Op::kLogicalOr, Op::kLogicalXor, Op::kEq, Op::kMul}) {
    cases.push_back(binary(op, kBool));
  }
  cases.push_back(unary(Op::kLogicalNot, kBool));
  for (const DType dtype : {kI64, kI32, kI8, kU8}) {
    for (const Op op : {Op::kShiftLeft, Op::kShiftRight}) {
      cases.push_back(binary(op, dtype, 0, 3));
      cases.push_back(binary(op, dtype, dtype == kU8 ? 0 : -20, 100, "_beyond"));
    }
  }
  for (const double exponent : {1., 2., 3., 7., 40.}) {
    cases.push_back({"pow_" + std::to_string(static_cast<int>(exponent)), [=](Build& b) {
                       return b.emit(Op::kPow, NoAttrs{}, {b.input(kI64, {b.n, 3}), b.number(exponent, kI64)});
                     }});
  }
  for (const Op op : {Op::kDiv, Op::kPow, Op::kAtan2}) cases.push_back(binary(op, kF64, 1, 4));
  for (const Op op :
       {Op::kExp,   Op::kExp2, Op::kExpm1, Op::kSin,       Op::kCos,   Op::kTan,   Op::kSinh,  Op::kCosh,
        Op::kAsinh, Op::kAtan, Op::kErf,   Op::kFloor,     Op::kCeil,  Op::kRound, Op::kTrunc, Op::kSigmoid,
        Op::kTanh,  Op::kGelu, Op::kElu,   Op::kLeakyRelu, Op::kIsNan, Op::kIsInf}) {
    cases.push_back(unary(op, kF64));
  }
  for (const Op op :
       {Op::kLog, Op::kLog2, Op::kLog10, Op::kLog1p, Op::kSqrt, Op::kRsqrt, Op::kReciprocal, Op::kAcosh}) {
    cases.push_back(unary(op, kF64, 1, 4));
  }
  for (const Op op : {Op::kAsin, Op::kAcos, Op::kAtanh}) cases.push_back(unary(op, kF64, -0.9, 0.9));
  const auto clamp = [](DType dtype, ClampAttrs attrs) {
    return [=](Build& b) { return b.emit(Op::kClamp, attrs, {b.input(dtype, {b.n, 3})}); };
  };
  cases.push_back({"clamp_integers", clamp(kI32, {-1, 2})});
  cases.push_back({"clamp_below", clamp(kF64, {.min = -0.5})});
  cases.push_back({"clamp_above", clamp(kF64, {.max = 0.5})});
  cases.push_back({"clamp_beyond", clamp(kI8, {-1000, 2})});
  cases.push_back({"clamp_halves", clamp(kF16, {-1, 1e6})});
  cases.push_back({"clamp_nothing", clamp(kBF16, {})});
  for (const DType dtype : {kF16, kBF16}) {
    cases.push_back({"gelu_tanh_" + std::string(name_of(dtype)), [=](Build& b) {
                       return b.emit(Op::kGelu, GeluAttrs{true}, {b.input(dtype, {b.n, 3})});
                     }});
  }
  cases.push_back({"sign_of_nan", [](Build& b) {
                     const ValueId zeros = b.input(kF64, {b.n, 24}, -0.25, 0.25);
                     return b.emit(Op::kSign, NoAttrs{}, {b.emit(Op::kDiv, NoAttrs{}, {zeros, zeros})});
                   }});
  cases.push_back({"abs_of_negative_zero", [](Build& b) {
                     const ValueId zero = b.emit(Op::kNeg, NoAttrs{}, {b.input(kF64, {b.n, 12}, 0, 0.25)});
                     return b.emit(Op::kReciprocal, NoAttrs{}, {b.emit(Op::kAbs, NoAttrs{}, {zero})});
                   }});
  cases.push_back({"nan_to_num", [](Build& b) {
                     // 1 / 0, -1 / 0 and 0 / 0 are among them.
                     const ValueId x = b.input(kF64, {b.n, 24}, -0.25, 0.25);
                     const ValueId ratio = b.emit(Op::kDiv, NoAttrs{}, {x, b.input(kF64, {b.n, 24}, -0.25, 0.25)});
                     return b.emit(Op::kNanToNum, NanToNumAttrs{7, 8, -9}, {ratio});
                   }});
  cases.push_back({"copysign", [](Build& b) {
                     const ValueId x = b.input(kF64, {b.n, 12});
                     const ValueId zero = b.emit(Op::kNeg, NoAttrs{}, {b.input(kF64, {12}, -0.25, 0.25)});
                     return b.emit(Op::kCopysign, NoAttrs{}, {x, zero});
                   }});
  for (const DType dtype : {kI64, kF64, kBool, kBF16}) {
    cases.push_back({"where_" + std::string(name_of(dtype)), [=](Build& b) {
                       const ValueId condition = b.input(kBool, {b.n, 1});
                       const ValueId a = b.input(dtype, {3});
                       return b.emit(Op::kWhere, NoAttrs{}, {condition, a, b.input(dtype, {b.n, 3})});
                     }});
  }
  for (const auto& [from, to] : {std::pair{kI64, kI32},
                                 {kI32, kF64},
                                 {kF64, kI64},
                                 {kBool, kI64},
                                 {kF64, kBool},
                                 {kF32, kF16},
                                 {kF32, kBF16},
                                 {kF16, kF64},
                                 {kU8, kF32},
                                 {kF32, kI8}}) {
    cases.push_back({"cast_" + std::string(name_of(from)) + "_" + std::string(name_of(to)), [=](Build& b) {
                       return b.emit(Op::kCast, DTypeAttrs{to}, {b.input(from, {b.n, 3}, 0, 4)});
                     }});
  }
}

void add_movement(std::vector<Case>& cases) {
  const auto reshape = [](auto shape) {
    return [=](Build& b) { return b.emit(Op::kReshape, ShapeAttrs{shape(b)}, {b.input(DType::kI64, {b.n, 6, b.m})}); };
  };
  cases.push_back({"reshape_fixed", [](Build& b) {
                     return b.emit(Op::kReshape, ShapeAttrs{{3, 2}}, {b.input(DType::kI64, {6})});
                   }});
  cases.push_back({"reshape_one_symbol", [](Build& b) {
                     return b.emit(Op::kReshape, ShapeAttrs{{b.n, 2, 3}}, {b.input(DType::kU16, {b.n, 6}, 0, 9)});
                   }});
  cases.push_back({"reshape_two_symbols", reshape([](Build& b) { return Shape{b.n, 3, 2, b.m}; })});
  cases.push_back({"reshape_merged", reshape([](Build& b) { return Shape{b.exprs().multiply(b.n, 6), b.m}; })});
  cases.push_back({"reshape_of_nothing", [](Build& b) {
                     return b.emit(Op::kReshape, ShapeAttrs{{0, b.n}}, {b.input(DType::kI64, {b.n, 0})});
                   }});
  cases.push_back(of_integers("permute", Op::kPermute, AxesAttrs{{2, 0, 1}}, kMatrix));
  cases.push_back(of_integers("flip", Op::kFlip, AxesAttrs{{0, 2}}, kMatrix));
  cases.push_back({"expand_kept", [](Build& b) {
                     return b.emit(Op::kExpand, ShapeAttrs{{5, b.n, 3}}, {b.input(DType::kI64, {b.n, 1})});
                   }});
  cases.push_back({"expand_to_symbols", [](Build& b) {
                     const ValueId x = b.input(DType::kI64, {1, 3});
                     b.output(b.input(DType::kI64, {b.n, b.m}));
                     return b.emit(Op::kExpand, ShapeAttrs{{b.m, b.n, 3}}, {x});
                   }});
  const auto slice = [](auto attrs) {
    return [=](Build& b) { return b.emit(Op::kSlice, attrs(b), {b.input(DType::kI64, {b.n, b.m})}); };
  };
  cases.push_back({"slice_steps", slice([](Build&) { return SliceAttrs{1, 0, 2, 2}; })});
  cases.push_back({"slice_to_end", slice([](Build& b) { return SliceAttrs{1, 1, b.m, 1}; })});
  cases.push_back({"slice_to_half", slice([](Build& b) {
                     return SliceAttrs{0, 0, b.exprs().floor_divide(b.exprs().add(b.n, 1), 2), 1};
                   })});
  cases.push_back({"slice_to_smaller", slice([](Build& b) { return SliceAttrs{0, 0, b.exprs().min(b.n, b.m), 1}; })});
  cases.push_back({"slice_from_symbol", slice([](Build& b) {
                     return SliceAttrs{0, b.exprs().add(b.exprs().max(b.n, 2), -2), b.n, 1};
                   })});
  cases.push_back({"cat", [](Build& b) {
                     const ValueId x = b.input(DType::kI64, {b.n, 3});
                     return b.emit(Op::kCat, AxisAttrs{1}, {x, b.input(DType::kI64, {b.n, b.m}), x});
                   }});
  const auto pad = [](PadMode mode, Ints before, Ints after, double value = 0) {
    return PadAttrs{mode, std::move(before), std::move(after), value};
  };
  cases.push_back(of_integers("pad_constant", Op::kPad, pad(PadMode::kConstant, {1, 0, 2}, {0, 1, 3}, 7), kMatrix));
  cases.push_back(of_doubles("pad_reflect", Op::kPad, pad(PadMode::kReflect, {0, 2, 1}, {0, 1, 3}), kMatrix));
  cases.push_back(of_doubles("pad_replicate", Op::kPad, pad(PadMode::kReplicate, {0, 0, 5}, {0, 0, 1}), kMatrix));
  cases.push_back(of_doubles("pad_replicate_all", Op::kPad, pad(PadMode::kReplicate, {1, 2, 0}, {0, 0, 1}), kMatrix));
  cases.push_back(
      of_doubles("pad_reflect_deep", Op::kPad, pad(PadMode::kReflect, {0, 0, 0, 0, 1}, {0, 0, 0, 0, 2}), [](Build& b) {
        return Shape{b.n, b.m, 2, 1, 4};
      }));
}

void add_indexing(std::vector<Case>& cases) {
  for (const DType index : {DType::kI64, DType::kI32}) {
    const std::string suffix = "_" + std::string(name_of(index));
    cases.push_back({"index_select" + suffix, [=](Build& b) {
                       const ValueId x = b.input(DType::kU16, {2, 5, 3}, 0, 9);
                       return b.emit(Op::kIndexSelect, AxisAttrs{1}, {x, b.input(index, {b.n}, -5, 5)});
                     }});
    cases.push_back({"gather" + suffix, [=](Build& b) {
                       const ValueId x = b.input(DType::kI64, {b.n, 5});
                       return b.emit(Op::kGather, AxisAttrs{1}, {x, b.input(index, {b.n, 3}, 0, 5)});
                     }});
    cases.push_back({"scatter" + suffix, [=](Build& b) {
                       const ValueId x = b.input(DType::kF32, {b.n, 5});
                       // The same place twice would make the result depend on an order.
                       const ValueId at = b.input(index, {b.n, 1}, -5, 5);
                       return b.emit(Op::kScatter, ScatterAttrs{1}, {x, at, b.input(DType::kF32, {b.n, 1})});
                     }});
  }
  cases.push_back({"scatter_first_axis", [](Build& b) {
                     const ValueId x = b.input(DType::kI64, {b.n, 2});
                     const ValueId at = b.input(DType::kI64, {1, 2}, -1, 1);
                     return b.emit(Op::kScatter, ScatterAttrs{0}, {x, at, b.input(DType::kI64, {1, 2})});
                   }});
  cases.push_back(
      {"scatter_add", [](Build& b) {
         const ValueId x = b.input(DType::kI64, {5, 2});
         const ValueId at = b.input(DType::kI64, {b.n, 2}, -5, 5);
         return b.emit(Op::kScatterReduce, ScatterAttrs{0, ScatterMode::kAdd}, {x, at, b.input(DType::kI64, {b.n, 2})});
       }});
  cases.push_back({"arange", [](Build& b) {
                     b.output(b.input(DType::kI64, {b.n, b.m}));
                     const Dim end = b.exprs().add(b.exprs().multiply(b.n, b.m), 3);
                     return b.emit(Op::kArange, ArangeAttrs{b.m, end, 2, DType::kI64}, {});
                   }});
  cases.push_back({"arange_of_half", [](Build& b) {
                     b.output(b.input(DType::kI64, {b.exprs().add(b.exprs().multiply(b.n, 2), 1)}));
                     return b.emit(Op::kArange, ArangeAttrs{0, b.n, 1, DType::kF32}, {});
                   }});
}

void add_reductions(std::vector<Case>& cases) {
  for (const bool keepdim : {false, true}) {
    const std::string suffix = keepdim ? "_kept" : "";
    for (const Op op : {Op::kSum, Op::kProd, Op::kAmax, Op::kAmin, Op::kAny, Op::kAll}) {
      const std::string name = std::string(name_of(op)) + suffix;
      cases.push_back(of_integers(name, op, ReduceAttrs{{0, 2}, keepdim}, kMatrix));
      cases.push_back(of_integers(name + "_all", op, ReduceAttrs{{0, 1, 2}, keepdim}, kMatrix));
    }
    cases.push_back(of_doubles("mean" + suffix, Op::kMean, ReduceAttrs{{1, 2}, keepdim}, kMatrix));
    cases.push_back(of_doubles("variance" + suffix, Op::kVariance, VarianceAttrs{{1, 2}, keepdim, 1}, kMatrix));
    for (const Op op : {Op::kArgmax, Op::kArgmin}) {
      cases.push_back(of_integers(std::string(name_of(op)) + suffix, op, ReduceAttrs{{1}, keepdim}, kMatrix));
    }
  }
  cases.push_back({"any_of_bools", [](Build& b) {
                     return b.emit(Op::kAny, ReduceAttrs{{1}, false}, {b.input(DType::kBool, {b.n, 3})});
                   }});
  cases.push_back(of_integers("cumsum", Op::kCumsum, AxisAttrs{0}, kMatrix));
  cases.push_back(of_doubles("softmax", Op::kSoftmax, AxisAttrs{1}, kMatrix));
  cases.push_back(of_doubles("log_softmax", Op::kLogSoftmax, AxisAttrs{2}, kMatrix));
  for (const bool is_descending : {false, true}) {
    const std::string suffix = is_descending ? "_descending" : "";
    cases.push_back(of_doubles("sort" + suffix, Op::kSort, SortAttrs{0, is_descending}, kMatrix));
    cases.push_back(of_integers("sort_integers" + suffix, Op::kSort, SortAttrs{2, is_descending}, kMatrix));
    cases.push_back(of_doubles("argsort" + suffix, Op::kArgsort, SortAttrs{1, is_descending}, kMatrix));
    cases.push_back(of_integers("argsort_symbol" + suffix, Op::kArgsort, SortAttrs{0, is_descending}, kMatrix));
    cases.push_back({"argsort_of_equals" + suffix, [=](Build& b) {
                       const ValueId x = b.input(DType::kI64, {b.n, 40}, -2, 2);
                       return b.emit(Op::kArgsort, SortAttrs{1, is_descending}, {x});
                     }});
    cases.push_back({"argsort_of_nans" + suffix, [=](Build& b) {
                       const ValueId zeros = b.input(DType::kF64, {b.n, 40}, -0.25, 0.25);
                       const ValueId x = b.emit(Op::kDiv, NoAttrs{}, {zeros, zeros});
                       return b.emit(Op::kArgsort, SortAttrs{1, is_descending}, {x});
                     }});
  }
}

void add_layers(std::vector<Case>& cases) {
  const auto product = [](Op op, auto a, auto b) {
    return [=](Build& build) {
      const ValueId left = build.input(DType::kF64, a(build));
      return build.emit(op, NoAttrs{}, {left, build.input(DType::kF64, b(build))});
    };
  };
  const auto weight = [](Build&) { return Shape{5, 4}; };
  cases.push_back({"matmul_2", product(
                                   Op::kMatmul,
                                   [](Build& b) {
                                     return Shape{b.n, 3};
                                   },
                                   [](Build& b) {
                                     return Shape{3, b.m};
                                   })});
  cases.push_back({"matmul_3", product(Op::kMatmul, kMatrix, [](Build& b) { return Shape{b.n, 4, 2}; })});
  cases.push_back({"matmul_broadcast", product(
                                           Op::kMatmul,
                                           [](Build& b) {
                                             return Shape{2, 1, b.m, 4};
                                           },
                                           [](Build& b) {
                                             return Shape{b.n, 4, 2};
                                           })});
  cases.push_back({"matmul_integers", [](Build& b) {
                     const ValueId x = b.input(DType::kI64, {b.n, 3});
                     return b.emit(Op::kMatmul, NoAttrs{}, {x, b.input(DType::kI64, {3, 2})});
                   }});
  cases.push_back({"linear", product(Op::kLinear, kMatrix, weight)});
  cases.push_back({"linear_vector", product(
                                        Op::kLinear, [](Build&) { return Shape{4}; }, weight)});
  cases.push_back({"linear_bias", [=](Build& b) {
                     const ValueId x = b.input(DType::kF64, {b.n, 4});
                     const ValueId w = b.input(DType::kF64, {5, 4});
                     return b.emit(Op::kLinear, NoAttrs{}, {x, w, b.input(DType::kF64, {5})});
                   }});
  const auto conv = [](Op op, Attrs attrs, Shape filters, bool has_bias) {
    return [=](Build& b) {
      std::vector<ValueId> inputs{b.input(DType::kF64, {b.n, 4, 6, 7})};
      inputs.push_back(b.input(DType::kF64, filters));
      if (has_bias) inputs.push_back(b.input(DType::kF64, {6}));
      return b.emit(op, attrs, inputs);
    };
  };
  cases.push_back({"conv", conv(Op::kConv2d, ConvAttrs{{2, 1}, {1, 1, 2, 2}, {1, 2}, 2}, {6, 2, 3, 3}, true)});
  cases.push_back({"conv_uneven", conv(Op::kConv2d, ConvAttrs{{1, 1}, {0, 1, 3, 2}, {1, 1}, 1}, {6, 4, 2, 4}, false)});
  cases.push_back({"conv_transpose", conv(Op::kConvTranspose2d, ConvTransposeAttrs{{2, 3}, {1, 0, 1, 1}, {1, 1}, 2},
                                          {4, 3, 3, 2}, true)});
  cases.push_back(
      of_doubles("max_pool", Op::kMaxPool2d, MaxPoolAttrs{{3, 2}, {2, 2}, {1, 1, 0, 0}, {1, 2}, true}, kImage));
  cases.push_back(of_integers("max_pool_integers", Op::kMaxPool2d,
                              MaxPoolAttrs{{2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, false}, kImage));
  cases.push_back(of_doubles("max_pool_indices", Op::kMaxPool2dIndices,
                             MaxPoolAttrs{{3, 2}, {2, 2}, {1, 1, 1, 1}, {1, 1}, false}, kImage));
  cases.push_back(
      of_doubles("avg_pool", Op::kAvgPool2d, AvgPoolAttrs{{3, 2}, {2, 2}, {1, 1, 1, 1}, true, false, 0}, kImage));
  cases.push_back(of_doubles("avg_pool_divisor", Op::kAvgPool2d,
                             AvgPoolAttrs{{3, 2}, {1, 2}, {0, 0, 0, 0}, false, true, 5}, kImage));
  cases.push_back({"adaptive", [](Build& b) {
                     return b.emit(Op::kAdaptiveAvgPool2d, SizeAttrs{{4, 3}}, {b.input(DType::kF16, kImage(b))});
                   }});
  cases.push_back({"batch_norm", [](Build& b) {
                     std::vector<ValueId> inputs{b.input(DType::kF64, {b.n, 4, 3})};
                     for (int i = 0; i < 4; ++i) inputs.push_back(b.input(DType::kF64, {4}, 0.5, 2));
                     return b.emit(Op::kBatchNorm, EpsAttrs{1e-3}, inputs);
                   }});
  const auto norm = [](Op op, Attrs attrs, auto shape, Shape parameters, std::size_t count) {
    return [=](Build& b) {
      std::vector<ValueId> inputs{b.input(DType::kF64, shape(b))};
      for (std::size_t i = 0; i < count; ++i) inputs.push_back(b.input(DType::kF64, parameters));
      return b.emit(op, attrs, inputs);
    };
  };
  cases.push_back({"layer_norm", norm(Op::kLayerNorm, LayerNormAttrs{2, 1e-3}, kMatrix, {3, 4}, 2)});
  cases.push_back({"layer_norm_plain", norm(Op::kLayerNorm, LayerNormAttrs{1, 1e-3}, kMatrix, {}, 0)});
  cases.push_back({"group_norm", norm(
                                     Op::kGroupNorm, GroupNormAttrs{2, 1e-3},
                                     [](Build& b) {
                                       return Shape{b.n, 4, b.m, 5};
                                     },
                                     {4}, 2)});
  // Nothing of the variance would be left of squares in f32.
  for (const Op op : {Op::kLayerNorm, Op::kGroupNorm}) {
    cases.push_back(
        {std::string(name_of(op)) + "_far_from_zero", [=](Build& b) {
           const ValueId x = b.input(DType::kF64, {b.n, 4, 6}, 10000, 10004);
           const Attrs attrs = op == Op::kLayerNorm ? Attrs(LayerNormAttrs{1, 1e-3}) : Attrs(GroupNormAttrs{2, 1e-3});
           return b.emit(op, attrs, {b.emit(Op::kCast, DTypeAttrs{DType::kF16}, {x})});
         }});
  }
  cases.push_back({"group_norm_weight", norm(Op::kGroupNorm, GroupNormAttrs{4, 1e-3}, kImage, {4}, 1)});
  const auto resize = [](ResizeMode mode, std::vector<double> scales, bool align) {
    return ResizeAttrs{mode, {9, 10}, std::move(scales), align};
  };
  cases.push_back(of_doubles("nearest", Op::kResize2d, resize(ResizeMode::kNearest, {}, false), kImage));
  cases.push_back(of_doubles("nearest_scaled", Op::kResize2d, resize(ResizeMode::kNearest, {1.6, 1.5}, false), kImage));
  for (const bool is_aligned : {false, true}) {
    cases.push_back({is_aligned ? "bilinear_aligned" : "bilinear", [=](Build& b) {
                       const ResizeAttrs attrs = resize(ResizeMode::kLinear, {}, is_aligned);
                       return b.emit(Op::kResize2d, attrs, {b.input(DType::kBF16, kImage(b))});
                     }});
  }
  for (const ResizeMode mode : {ResizeMode::kLinear, ResizeMode::kNearest, ResizeMode::kCubic}) {
    cases.push_back({"grid_sample_" + std::to_string(static_cast<int>(mode)), [=](Build& b) {
                       const ValueId x = b.input(DType::kF64, {b.n, 2, 4, 5});
                       const GridSampleAttrs attrs{mode, GridPadding::kBorder, true};
                       return b.emit(Op::kGridSample, attrs, {x, b.input(DType::kF64, {b.n, 3, 3, 2}, -1.2, 1.2)});
                     }});
  }
}

void add_quantization(std::vector<Case>& cases) {
  cases.push_back({"quantize_numbers", [](Build& b) {
                     const ValueId x = b.input(DType::kF32, {b.n, 3});
                     return b.emit(Op::kQuantize, QuantizeAttrs{-1, -127, 127, DType::kI8},
                                   {x, b.number(0.1, DType::kF64), b.number(3, DType::kI64)});
                   }});
  cases.push_back({"quantize_tensors", [](Build& b) {
                     const ValueId x = b.input(DType::kF32, {b.n, 3});
                     const ValueId scale = b.input(DType::kF32, {}, 0.125, 1);
                     return b.emit(Op::kQuantize, QuantizeAttrs{-1, 0, 255, DType::kU8},
                                   {x, scale, b.input(DType::kI32, {}, 0, 9)});
                   }});
  cases.push_back({"quantize_channels", [](Build& b) {
                     const ValueId x = b.input(DType::kF32, {b.n, 3});
                     const ValueId scale = b.input(DType::kF32, {3}, 0.125, 1);
                     return b.emit(Op::kQuantize, QuantizeAttrs{1, -128, 127, DType::kI8},
                                   {x, scale, b.input(DType::kI64, {3}, 0, 9)});
                   }});
  cases.push_back(
      {"dequantize_numbers", [](Build& b) {
         const ValueId x = b.input(DType::kI8, {b.n, 3}, -128, 127);
         return b.emit(Op::kDequantize, DequantizeAttrs{}, {x, b.number(0.1, DType::kF64), b.number(-3, DType::kI64)});
       }});
  cases.push_back({"dequantize_tensors", [](Build& b) {
                     const ValueId x = b.input(DType::kU8, {b.n, 3}, 0, 255);
                     const ValueId scale = b.input(DType::kF32, {}, 0.125, 1);
                     return b.emit(Op::kDequantize, DequantizeAttrs{}, {x, scale, b.input(DType::kI32, {}, 0, 9)});
                   }});
  cases.push_back({"dequantize_channels", [](Build& b) {
                     const ValueId x = b.input(DType::kI8, {b.n, 3}, -128, 127);
                     const ValueId scale = b.input(DType::kF32, {3}, 0.125, 1);
                     return b.emit(Op::kDequantize, DequantizeAttrs{1}, {x, scale, b.input(DType::kI64, {3}, 0, 9)});
                   }});
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  add_elementwise(cases);
  add_movement(cases);
  add_indexing(cases);
  add_reductions(cases);
  add_layers(cases);
  add_quantization(cases);
  return cases;
}

// Every call that stands in the file is one of the kernel's signature.
void expect_signatures(const Blob& file) {
  const auto program = pte::read_program(file);
  ASSERT_TRUE(program) << program.error().text();
  const pte::Plan& plan = program->plans[0];
  for (const pte::Instruction& instruction : plan.chains[0].instructions) {
    const auto* call = std::get_if<pte::KernelCall>(&instruction);
    if (call == nullptr) continue;
    const std::string name = host::full_name(plan.operators[call->operator_index]);
    const host::Kernel* kernel = host::find_kernel(name);
    ASSERT_NE(kernel, nullptr) << name;
    EXPECT_TRUE(fits(*kernel, plan, call->args)) << name;
  }
}

void expect_same(const Tensor& found, const Tensor& expected) {
  EXPECT_EQ(found.dtype(), expected.dtype());
  // Of f16 and bf16 the kernels add f32.
  const double share = expected.dtype() == DType::kF64 ? 1e-12 : is_half(expected.dtype()) ? 1e-6 : 0;
  const double allowed = share * test::largest_of(expected);
  EXPECT_LE(test::difference(found, expected).max, allowed);
}

class HostOps : public ::testing::TestWithParam<Case> {};

TEST_P(HostOps, CallsComputeWhatTheOpComputes) {
  Build build;
  build.output(GetParam().make(build));
  const TargetDesc& target = *find_target("xnnpack");
  Diagnostics diagnostics;
  const auto prepared = prepare_float(build.graph(), {&target, {}}, diagnostics);
  ASSERT_TRUE(prepared) << prepared.error().text();
  EXPECT_TRUE(prepared->partitioning.segments.empty()) << print(prepared->graph);
  std::vector<std::optional<TensorView>> examples;
  const std::vector<Tensor> example = build.inputs({{"n", 2}, {"m", 3}});
  for (const Tensor& input : example) examples.emplace_back(input.view());
  const auto compiled = compile(*prepared, target, examples, nullptr);
  ASSERT_TRUE(compiled) << compiled.error().text() << print(prepared->graph);
  const Blob file(compiled->bytes, nullptr);
  expect_signatures(file);
  auto method = run::Method::load(file);
  ASSERT_TRUE(method) << method.error().text();
  for (const auto& [n, m] : {std::pair{3, 2}, {1, 3}, {8, 5}, {2, 2}}) {
    SCOPED_TRACE("n = " + std::to_string(n) + ", m = " + std::to_string(m));
    const std::vector<Tensor> inputs = build.inputs({{"n", n}, {"m", m}});
    const auto expected = interpret(build.graph(), inputs);
    ASSERT_TRUE(expected) << expected.error().text();
    const auto found = method->run(inputs);
    ASSERT_TRUE(found) << found.error().text();
    ASSERT_EQ(found->size(), expected->size());
    for (std::size_t i = 0; i < found->size(); ++i) expect_same(*(*found)[i], *(*expected)[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(All, HostOps, ::testing::ValuesIn(all_cases()),
                         [](const auto& row) { return row.param.name; });

TEST(HostOpTable, EveryRowHasACase) {
  std::set<Op> seen;
  for (const Case& row : all_cases()) {
    Build build;
    row.make(build);
    for (const Node& node : build.graph().nodes()) seen.insert(node.op);
  }
  for (const host::WrittenOp& row : host::written_ops()) EXPECT_TRUE(seen.contains(row.op)) << name_of(row.op);
}

TEST(HostOpTable, EachOpIsWrittenInOneWay) {
  std::set<Op> ops;
  for (const host::WrittenOp& row : host::written_ops()) {
    EXPECT_TRUE(ops.insert(row.op).second) << name_of(row.op);
    EXPECT_TRUE(row.kernel.empty() || host::find_kernel(row.kernel) != nullptr) << row.kernel;
  }
}

TEST(HostOpTable, EachKernelHasOneRowAndRuns) {
  std::set<std::string_view> seen;
  for (const host::Kernel& kernel : host::kernels()) {
    EXPECT_TRUE(seen.insert(kernel.name).second) << kernel.name;
    EXPECT_NE(kernel.run, nullptr) << kernel.name;
    EXPECT_EQ(host::full_name(host::operator_of(kernel.name)), kernel.name);
  }
}

// The spellings of kernels in the sources: of every one, one.
TEST(HostOpTable, AKernelsNameStandsOnce) {
  std::map<std::string, std::size_t> spellings;
  const std::regex form(R"rx("((aten|executorch_prim|dim_order_ops|quantized_decomposed)::[^"]+)")rx");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::source_dir() / "src")) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".cc" && extension != ".h") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      for (std::sregex_iterator found(line.begin(), line.end(), form), end; found != end; ++found) {
        ++spellings[(*found)[1]];
      }
    }
  }
  for (const auto& [name, count] : spellings) EXPECT_EQ(count, 1u) << name;
  for (const host::Kernel& kernel : host::kernels()) EXPECT_TRUE(spellings.contains(std::string(kernel.name)));
  EXPECT_EQ(spellings.size(), host::kernels().size());
}

// Arguments, outs and the result as they were seen in files of ExecuTorch.
TEST(HostOpTable, AritiesAreThoseOfRealFiles) {
  for (const auto& [name, arity] : {std::pair<std::string_view, std::size_t>{"aten::add.out", 5},
                                    {"aten::expand_copy.out", 5},
                                    {"aten::squeeze_copy.dims_out", 4},
                                    {"aten::select_copy.int_out", 5},
                                    {"aten::native_layer_norm.out", 9},
                                    {"quantized_decomposed::quantize_per_tensor.out", 8},
                                    {"quantized_decomposed::dequantize_per_tensor.out", 9}}) {
    ASSERT_NE(host::find_kernel(name), nullptr) << name;
    EXPECT_EQ(host::find_kernel(name)->arity(), arity) << name;
  }
}

std::string refusal(const std::function<ValueId(Build&)>& make) {
  Build build;
  build.output(make(build));
  const TargetDesc& target = *find_target("xnnpack");
  Diagnostics diagnostics;
  const auto prepared = prepare_float(build.graph(), {&target, {}}, diagnostics);
  if (!prepared) return prepared.error().text();
  const auto compiled = compile(*prepared, target, {}, nullptr);
  return compiled ? "nothing" : compiled.error().text();
}

TEST(HostOpRefusals, SayWhatTheKernelCannotDo) {
  const auto contains = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_NE(text.find("it cannot run on xnnpack: "), std::string::npos) << text;
  };
  contains(refusal([](Build& b) {
             return b.emit(Op::kAdd, NoAttrs{}, {b.input(DType::kU16, {3}), b.input(DType::kU16, {3})});
           }),
           "and on the host: ExecuTorch's kernels for add do not support u16");
  contains(refusal([](Build& b) {
             return b.emit(Op::kSort, SortAttrs{0, false}, {b.input(DType::kBool, {3})});
           }),
           "ExecuTorch's kernels for sort do not support bool");
  contains(
      refusal([](Build& b) {
        const ValueId x = b.input(DType::kI64, {4});
        return b.emit(Op::kScatterReduce, ScatterAttrs{0, ScatterMode::kMax}, {x, b.input(DType::kI64, {4}, 0, 4), x});
      }),
      "ExecuTorch's kernels only set or add");
  contains(refusal([](Build& b) {
             const PadAttrs pad{PadMode::kReplicate, {1, 1, 1, 1}, {0, 0, 0, 0}, 0};
             return b.emit(Op::kPad, pad, {b.input(DType::kF64, {2, 2, 2, 2})});
           }),
           "ExecuTorch's kernels reflect or replicate 1 to 3 of the last axes, not 4");
  contains(refusal([](Build& b) {
             const ConvTransposeAttrs attrs{{1, 1}, {0, 1, 0, 0}, {1, 1}, 1};
             const ValueId x = b.input(DType::kF64, {1, 1, 4, 4});
             return b.emit(Op::kConvTranspose2d, attrs, {x, b.input(DType::kF64, {1, 1, 3, 3})});
           }),
           "ExecuTorch's kernel cannot cut 0 before and 1 after an axis of stride 1");
  contains(refusal([](Build& b) {
             return b.emit(Op::kResize2d, ResizeAttrs{ResizeMode::kCubic, {4, 4}, {}, false},
                           {b.input(DType::kF64, {1, 1, 3, 3})});
           }),
           "ExecuTorch's kernels resize only nearest or linear");
  contains(refusal([](Build& b) {
             return b.emit(Op::kAvgPool2d, AvgPoolAttrs{{2, 2}, {2, 2}, {0, 0, 0, 0}, false, true, 0},
                           {b.input(DType::kI32, {1, 1, 4, 4})});
           }),
           "ExecuTorch's kernel averages floats and i64, not i32");
  contains(refusal([](Build& b) {
             const ValueId x = b.input(DType::kI64, {4});
             return b.emit(Op::kPow, NoAttrs{}, {x, b.input(DType::kI64, {4})});
           }),
           "use floats or one positive constant exponent");
  contains(refusal([](Build& b) {
             return b.emit(Op::kAdaptiveAvgPool2d, SizeAttrs{{2, 2}}, {b.input(DType::kF64, {1, 1, 4, 4})});
           }),
           "ExecuTorch's kernel averages f64 in f32; use f32");
  contains(refusal([](Build& b) {
             return b.emit(Op::kResize2d, ResizeAttrs{ResizeMode::kLinear, {4, 4}, {}, false},
                           {b.input(DType::kF64, {1, 1, 3, 3})});
           }),
           "ExecuTorch's kernel weights pixels with f32; use f32");
  contains(refusal([](Build& b) { return b.emit(Op::kGelu, GeluAttrs{true}, {b.input(DType::kF64, {3})}); }),
           "ExecuTorch's kernel computes tanh gelu with a float factor; use f32");
  contains(refusal([](Build& b) { return b.emit(Op::kCumprod, AxisAttrs{0}, {b.input(DType::kI64, {4})}); }),
           "and on the host: ExecuTorch has no host kernel for it");
}

// Sizes among the results are computed like those among the arguments.
TEST(HostSizes, AreResultsToo) {
  Build build;
  const ValueId x = build.input(DType::kI64, {build.n, build.m});
  build.output(x);
  build.graph().add_output({ArgValue{build.exprs().multiply(build.n, build.m)}, OutputKind::kResult, {}});
  const TargetDesc& target = *find_target("xnnpack");
  Diagnostics diagnostics;
  const auto prepared = prepare_float(build.graph(), {&target, {}}, diagnostics);
  ASSERT_TRUE(prepared) << prepared.error().text();
  const auto compiled = compile(*prepared, target, {}, nullptr);
  ASSERT_TRUE(compiled) << compiled.error().text();
  auto method = run::Method::load(Blob(compiled->bytes, nullptr));
  ASSERT_TRUE(method) << method.error().text();
  const auto found = method->run(build.inputs({{"n", 4}, {"m", 3}}));
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ((*found)[1]->data<std::int64_t>()[0], 12);
}

// The nodes between two delegates: what is computed before them and after them stays in delegates.
TEST(HostCalls, StandBetweenDelegates) {
  Build build;
  const ValueId x = build.input(DType::kF32, {build.n, 6});
  const ValueId before = build.emit(Op::kTanh, NoAttrs{}, {x});
  const ValueId order = build.emit(Op::kArgsort, SortAttrs{1, true}, {before});
  const ValueId first = build.emit(Op::kSlice, SliceAttrs{1, 0, 2, 1}, {order});
  const ValueId picked = build.emit(Op::kGather, AxisAttrs{1}, {before, first});
  build.output(build.emit(Op::kSigmoid, NoAttrs{}, {picked}));
  const TargetDesc& target = *find_target("xnnpack");
  Diagnostics diagnostics;
  const auto prepared = prepare_float(build.graph(), {&target, {}}, diagnostics);
  ASSERT_TRUE(prepared) << prepared.error().text();
  EXPECT_EQ(prepared->partitioning.segments.size(), 2u);
  const auto compiled = compile(*prepared, target, {}, nullptr);
  ASSERT_TRUE(compiled) << compiled.error().text();
  auto method = run::Method::load(Blob(compiled->bytes, nullptr));
  ASSERT_TRUE(method) << method.error().text();
  for (const std::int64_t n : {2, 8, 1}) {
    const std::vector<Tensor> inputs = build.inputs({{"n", n}, {"m", 2}});
    const auto expected = interpret(build.graph(), inputs);
    const auto found = method->run(inputs);
    ASSERT_TRUE(expected && found) << (found ? "" : found.error().text());
    EXPECT_LE(test::difference(*(*found)[0], *(*expected)[0]).max, 1e-6);
  }
  EXPECT_EQ(method->statistics().delegate_calls, 2u * 3u);
}

}  // namespace
}  // namespace isthmus::host_ops_test
