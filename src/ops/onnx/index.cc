// Operators of ONNX that read and write by index, sort and search.
#include "ops/families/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ops/elementwise.h"
#include "ops/known.h"
#include "ops/onnx/families.h"
#include "ops/onnx/reading.h"

namespace isthmus::onnx_ops {
namespace {

Expected<Values> read_gather(Call& call) {
  const ValueId data = TRY(call.tensor("data"));
  const ValueId indices = TRY(call.tensor("indices"));
  const std::int64_t axis = TRY(call.axis("axis", call.rank(data), 0));
  return one(pick(call, data, axis, indices));
}

// Positions counted from the end made others, where that is not known already.
Expected<ValueId> normal_indices(Call& call, ValueId indices, Dim size) {
  const auto known = known_integers(call.graph(), indices);
  if (known && std::ranges::all_of(*known, [](std::int64_t at) { return at >= 0; })) {
    return call.cast(indices, DType::kI64);
  }
  const ValueId wide = TRY(call.cast(indices, DType::kI64));
  if (!size.is_fixed()) return wide;
  const ValueId zero = call.scalar(std::int64_t{0}, DType::kI64);
  const ValueId shifted = TRY(call.binary(Op::kAdd, wide, call.scalar(size.value(), DType::kI64)));
  return call.emit(Op::kWhere, NoAttrs{}, {TRY(call.binary(Op::kLt, wide, zero)), shifted, wide});
}

Expected<Values> read_gather_elements(Call& call) {
  const ValueId data = TRY(call.tensor("data"));
  const std::int64_t axis = TRY(call.axis("axis", call.rank(data), 0));
  const ValueId indices = TRY(normal_indices(call, TRY(call.tensor("indices")), call.size(data, axis)));
  return one(call.emit(Op::kGather, AxisAttrs{axis}, {data, indices}));
}

Expected<ScatterMode> scatter_mode(Call& call) {
  const std::string name = TRY(call.text("reduction", "none"));
  if (name == "none") return ScatterMode::kSet;
  if (name == "add") return ScatterMode::kAdd;
  if (name == "mul") return ScatterMode::kMultiply;
  if (name == "min") return ScatterMode::kMin;
  if (name == "max") return ScatterMode::kMax;
  return bad_input(fmt::format("a reduction '{}'", name));
}

Expected<Values> read_scatter_elements(Call& call) {
  const ValueId data = TRY(call.tensor("data"));
  const std::int64_t axis = TRY(call.axis("axis", call.rank(data), 0));
  const ValueId indices = TRY(normal_indices(call, TRY(call.tensor("indices")), call.size(data, axis)));
  return one(scatter(call, data, axis, indices, TRY(call.tensor("updates")), TRY(scatter_mode(call))));
}

// The last axis of the indices names positions of the leading axes of the data. Those axes become one, and so do the
// positions.
struct Flat {
  ValueId places;    // 1-d
  Dim rows = 1;      // of the data
  Dim row_size = 1;  // elements in each
  Shape row_shape;
  Shape index_shape;  // without its last axis
};
Expected<Flat> flat_places(Call& call, const Shape& data, ValueId indices) {
  const Shape index = call.shape(indices);
  if (index.empty() || !index.back().is_fixed()) return Call::unsupported("the depth of the indices is unknown");
  const std::int64_t depth = index.back().value();
  if (depth < 1 || depth > static_cast<std::int64_t>(data.size())) {
    return bad_input(fmt::format("indices of depth {} for rank {}", depth, data.size()));
  }
  const auto leading = static_cast<std::size_t>(depth);
  const auto fixed = fixed_sizes(Shape(data.begin(), data.begin() + depth));
  if (!fixed) return Call::unsupported("the indexed axes need static sizes");
  Ints strides(leading, 1);
  for (std::size_t i = leading; i-- > 1;) strides[i - 1] = strides[i] * (*fixed)[i];
  Flat flat;
  flat.index_shape.assign(index.begin(), index.end() - 1);
  flat.row_shape.assign(data.begin() + depth, data.end());
  flat.row_size = call.exprs().product(flat.row_shape);
  flat.rows = call.exprs().product(std::span(data).first(leading));
  const std::int64_t last = call.rank(indices) - 1;
  std::optional<ValueId> sum;
  for (std::size_t i = 0; i < leading; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const ValueId column = TRY(normal_indices(call, TRY(call.slice(indices, last, at, at + 1)), (*fixed)[i]));
    const ValueId scaled = TRY(call.binary(Op::kMul, column, call.scalar(strides[i], DType::kI64)));
    sum = sum ? TRY(call.binary(Op::kAdd, *sum, scaled)) : scaled;
  }
  flat.places = TRY(call.reshape(*sum, {call.exprs().product(flat.index_shape)}));
  return flat;
}

Expected<ValueId> gather_nd(Call& call, ValueId data, ValueId indices) {
  const Flat flat = TRY(flat_places(call, call.shape(data), indices));
  const ValueId rows = TRY(call.reshape(data, {flat.rows, flat.row_size}));
  const ValueId picked = TRY(call.emit(Op::kIndexSelect, AxisAttrs{0}, {rows, flat.places}));
  Shape shape = flat.index_shape;
  shape.insert(shape.end(), flat.row_shape.begin(), flat.row_shape.end());
  return call.reshape(picked, std::move(shape));
}

// Batches are axes of positions like the others: their own numbers stand before the indices.
Expected<Values> read_gather_nd(Call& call) {
  const ValueId data = TRY(call.tensor("data"));
  ValueId indices = TRY(call.cast(TRY(call.tensor("indices")), DType::kI64));
  const std::int64_t batches = TRY(call.integer("batch_dims", 0));
  if (batches < 0 || batches >= call.rank(indices) || batches > call.rank(data)) {
    return bad_input(fmt::format("unsupported number of batch axes: {}", batches));
  }
  for (std::int64_t axis = batches - 1; axis >= 0; --axis) {
    Shape shape = call.shape(indices);
    const Dim size = shape[static_cast<std::size_t>(axis)];
    if (!size.is_fixed() || size.value() > (1 << 20)) return Call::unsupported("the batch needs a static size");
    Ints numbers(static_cast<std::size_t>(size.value()));
    std::iota(numbers.begin(), numbers.end(), 0);
    Shape line(shape.size(), Dim(1));
    line[static_cast<std::size_t>(axis)] = size;
    shape.back() = Dim(1);
    const ValueId column =
        TRY(call.expand(TRY(call.reshape(call.integers(numbers), std::move(line))), std::move(shape)));
    indices = TRY(call.cat({column, indices}, call.rank(indices) - 1));
  }
  return one(gather_nd(call, data, indices));
}

Expected<Values> read_scatter_nd(Call& call) {
  const ValueId data = TRY(call.tensor("data"));
  const Flat flat = TRY(flat_places(call, call.shape(data), TRY(call.tensor("indices"))));
  const ValueId rows = TRY(call.reshape(data, {flat.rows, flat.row_size}));
  const ValueId updates =
      TRY(call.reshape(TRY(call.tensor("updates")), {call.exprs().product(flat.index_shape), flat.row_size}));
  const ValueId placed = TRY(place(call, rows, 0, flat.places, updates, TRY(scatter_mode(call))));
  return one(call.reshape(placed, call.shape(data)));
}

// `values` holds what is written elsewhere and at the index. An index outside of the depth writes nothing.
Expected<Values> read_one_hot(Call& call) {
  const ValueId given = TRY(call.tensor("indices"));
  const double number_of_places = TRY(number(call, "depth"));
  const ValueId values = TRY(call.tensor("values"));
  if (!(number_of_places >= 0) || number_of_places > static_cast<double>(kMaxElements)) {
    return bad_input(fmt::format("invalid depth {}", number_of_places));
  }
  const auto depth = static_cast<std::int64_t>(number_of_places);
  std::int64_t axis = TRY(call.integer("axis", -1));
  if (axis < 0) axis += call.rank(given) + 1;
  if (axis < 0 || axis > call.rank(given)) return bad_input(fmt::format("axis {}", axis));
  const ValueId indices = TRY(normal_indices(call, given, depth));
  Shape wide = call.shape(indices);
  wide.insert(wide.begin() + axis, Dim(1));
  Ints numbers(static_cast<std::size_t>(depth));
  std::iota(numbers.begin(), numbers.end(), 0);
  Shape line(wide.size(), Dim(1));
  line[static_cast<std::size_t>(axis)] = depth;
  const ValueId places = TRY(call.reshape(call.integers(numbers), std::move(line)));
  const ValueId is_hot = TRY(call.binary(Op::kEq, TRY(call.reshape(indices, std::move(wide))), places));
  const ValueId off = TRY(call.reshape(TRY(call.slice(values, 0, 0, 1)), {}));
  const ValueId on = TRY(call.reshape(TRY(call.slice(values, 0, 1, 2)), {}));
  return one(call.emit(Op::kWhere, NoAttrs{}, {is_hot, on, off}));
}

// Before opset 10 the number is the attribute "k".
Expected<Values> top_k(Call& call, std::int64_t k) {
  return TorchCall(call, "aten.topk")
      .tensor("self", TRY(call.tensor("X")))
      .integer("k", k)
      .integer("dim", TRY(call.integer("axis", -1)))
      .flag("largest", TRY(call.flag("largest", true)))
      .results(2)
      .read();
}
Expected<Values> read_top_k_of_attribute(Call& call) { return top_k(call, TRY(call.integer("k"))); }
Expected<Values> read_top_k(Call& call) { return top_k(call, TRY(integer(call, "K"))); }

// The first of equal numbers, or the last.
Expected<Values> read_position(Call& call, Op op) {
  ValueId data = TRY(call.tensor("data"));
  const std::int64_t axis = TRY(call.axis("axis", call.rank(data), 0));
  const bool keeps = TRY(call.flag("keepdims", true));
  const bool takes_last = TRY(call.flag("select_last_index", false));
  if (takes_last) data = TRY(call.emit(Op::kFlip, AxesAttrs{{axis}}, {data}));
  const ValueId at = TRY(call.emit(op, ReduceAttrs{{axis}, keeps}, {data}));
  if (!takes_last) return one(at);
  const Dim size = call.size(data, axis);
  if (!size.is_fixed()) return Call::unsupported("select_last_index needs a static axis");
  return one(call.binary(Op::kSub, call.scalar(size.value() - 1, DType::kI64), at));
}
Expected<Values> read_arg_max(Call& call) { return read_position(call, Op::kArgmax); }
Expected<Values> read_arg_min(Call& call) { return read_position(call, Op::kArgmin); }

// True at the first of the greatest numbers.
Expected<Values> read_hardmax(Call& call, std::int64_t default_axis, bool is_flattened) {
  const ValueId input = TRY(call.tensor("input"));
  std::int64_t axis = TRY(call.axis("axis", call.rank(input), default_axis));
  const Shape shape = call.shape(input);
  ValueId rows = input;
  if (is_flattened) {
    const auto at = static_cast<std::size_t>(axis);
    rows = TRY(call.reshape(
        input, {call.exprs().product(std::span(shape).first(at)), call.exprs().product(std::span(shape).subspan(at))}));
    axis = 1;
  }
  const Dim size = call.size(rows, axis);
  if (!size.is_fixed()) return Call::unsupported("Hardmax needs a static axis");
  const ValueId at = TRY(call.emit(Op::kArgmax, ReduceAttrs{{axis}, true}, {rows}));
  Ints numbers(static_cast<std::size_t>(size.value()));
  std::iota(numbers.begin(), numbers.end(), 0);
  Shape line(call.shape(rows).size(), Dim(1));
  line[static_cast<std::size_t>(axis)] = size;
  const ValueId places = TRY(call.reshape(call.integers(numbers), std::move(line)));
  const ValueId is_hot = TRY(call.binary(Op::kEq, at, places));
  return one(call.reshape(TRY(call.cast(is_hot, call.type(input).dtype)), shape));
}
Expected<Values> read_hardmax_of_rows(Call& call) { return read_hardmax(call, 1, true); }
Expected<Values> read_hardmax_of_axis(Call& call) { return read_hardmax(call, -1, false); }

Expected<Values> read_cum_sum(Call& call) {
  ValueId x = TRY(call.tensor("x"));
  const std::int64_t axis = TRY(normal_axis(TRY(integer(call, "axis")), call.rank(x)));
  const bool is_reverse = TRY(call.flag("reverse", false));
  if (is_reverse) x = TRY(call.emit(Op::kFlip, AxesAttrs{{axis}}, {x}));
  ValueId sums = TRY(call.emit(Op::kCumsum, AxisAttrs{axis}, {x}));
  if (TRY(call.flag("exclusive", false))) sums = TRY(call.binary(Op::kSub, sums, x));
  return one(is_reverse ? call.emit(Op::kFlip, AxesAttrs{{axis}}, {sums}) : Expected<ValueId>(sums));
}

Expected<Values> read_non_zero(Call&) {
  return Call::unsupported("the number of elements of the result depends on data");
}

}  // namespace

Family index_family() {
  static constexpr Row kRows[] = {
      row("onnx.Gather", "data indices", read_gather),
      row("onnx.GatherElements", "data indices", read_gather_elements),
      row("onnx.GatherND", "data indices", read_gather_nd),
      row("onnx.Scatter", "data indices updates", read_scatter_elements),
      row("onnx.ScatterElements", "data indices updates", read_scatter_elements),
      row("onnx.ScatterND", "data indices updates", read_scatter_nd),
      row("onnx.OneHot", "indices depth values", read_one_hot),
      row("onnx.TopK.1", "X", read_top_k_of_attribute),
      row("onnx.TopK.10", "X K", read_top_k),
      row("onnx.ArgMax", "data", read_arg_max),
      row("onnx.ArgMin", "data", read_arg_min),
      row("onnx.Hardmax.1", "input", read_hardmax_of_rows),
      row("onnx.Hardmax.13", "input", read_hardmax_of_axis),
      row("onnx.CumSum", "x axis", read_cum_sum),
      row("onnx.NonZero", "X", read_non_zero),
      row("onnx.Unique", "X", read_non_zero),
      row("onnx.NonMaxSuppression", "boxes scores max_output_boxes_per_class iou_threshold score_threshold",
          read_non_zero),
  };
  return family_of("onnx index", kRows);
}

}  // namespace isthmus::onnx_ops
