// Names that read elements by index: index_select, gather, take, embedding, one_hot, bucketize; and fold.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ops/demands.h"
#include "ops/families/index.h"
#include "ops/families/movement.h"
#include "ops/known.h"

namespace isthmus {
namespace {

Expected<std::vector<ValueId>> read_index_select(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const ValueId index = TRY(call.tensor("index"));
  if (call.rank(index) > 1) return bad_input(fmt::format("unsupported index of rank {}", call.rank(index)));
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self)));
  const ValueId line = TRY(call.reshape(index, {call.exprs().product(call.shape(index))}));
  if (call.rank(self) > 0) return one(pick(call, self, axis, line));
  return one(call.reshape(TRY(pick(call, TRY(call.reshape(self, {Dim(1)})), 0, line)), {}));
}

// A 0-d tensor is indexed as if it had one axis.
Expected<ValueId> with_axis_at_least(Call& call, ValueId value) {
  return call.rank(value) == 0 ? call.reshape(value, {Dim(1)}) : value;
}

Expected<ValueId> gathered(Call& call, ValueId self, std::int64_t axis, ValueId index) {
  const Shape shape = call.shape(index);
  const ValueId from = TRY(with_axis_at_least(call, self));
  const ValueId at = TRY(with_axis_at_least(call, index));
  return call.reshape(TRY(call.emit(Op::kGather, AxisAttrs{axis}, {from, at})), shape);
}

Expected<std::vector<ValueId>> read_gather(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self)));
  return one(gathered(call, self, axis, TRY(call.tensor("index"))));
}

Expected<ValueId> flattened(Call& call, ValueId value) {
  return call.reshape(value, {call.exprs().product(call.shape(value))});
}

Expected<std::vector<ValueId>> read_take(Call& call) {
  const ValueId flat = TRY(flattened(call, TRY(call.tensor("self"))));
  return one(pick(call, flat, 0, TRY(call.tensor("index"))));
}

Expected<std::vector<ValueId>> read_take_along_dim(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const ValueId index = TRY(call.tensor("indices"));
  if (!call.has("dim")) return one(gathered(call, TRY(flattened(call, self)), 0, TRY(flattened(call, index))));
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self)));
  if (call.rank(self) != call.rank(index)) return bad_input("the index and the tensor differ in rank");
  if (call.rank(self) == 0) return one(gathered(call, self, 0, index));
  // All axes but the one that is indexed broadcast.
  Shape from = call.shape(self);
  Shape at = call.shape(index);
  const auto place = static_cast<std::size_t>(axis);
  const Dim length = std::exchange(from[place], Dim(1));
  const Dim count = std::exchange(at[place], Dim(1));
  from = TRY(broadcast(call.exprs(), from, at));
  at = from;
  from[place] = length;
  at[place] = count;
  const ValueId wide = TRY(call.expand(self, std::move(from)));
  return one(gathered(call, wide, axis, TRY(call.expand(index, std::move(at)))));
}

Expected<std::vector<ValueId>> read_embedding(Call& call) {
  const ValueId weight = TRY(call.tensor("weight"));
  if (call.rank(weight) != 2)
    return bad_input(fmt::format("the embedding table has rank {}, expected 2", call.rank(weight)));
  const ValueId indices = TRY(call.tensor("indices"));
  // No index counts from the end here, so that they may keep their axes.
  if (call.rank(indices) > 1 && !known_integers(call.graph(), indices)) {
    return one(call.emit(Op::kIndexSelect, AxisAttrs{0}, {weight, indices}));
  }
  return one(pick(call, weight, 0, indices));
}

// Bags of equal size that lie one after another are a reduction over an axis.
Expected<std::vector<ValueId>> read_embedding_bag(Call& call) {
  const ValueId weight = TRY(call.tensor("weight"));
  const ValueId indices = TRY(call.tensor("indices"));
  const ValueId offsets = TRY(call.tensor("offsets"));
  const std::int64_t mode = TRY(call.integer("mode", 0));
  const auto starts = known_integers(call.graph(), offsets);
  if (call.has("per_sample_weights"))
    return Call::unsupported("embedding_bag with per-sample weights is not supported");
  if (TRY(call.integer("padding_idx", -1)) >= 0)
    return Call::unsupported("embedding_bag with a padding index is not supported");
  if (!starts || call.rank(weight) != 2 || call.rank(indices) != 1 || !call.size(indices, 0).is_fixed()) {
    return Call::unsupported("embedding_bag needs bags of a static size");
  }
  const auto bags = static_cast<std::int64_t>(starts->size()) - (TRY(call.flag("include_last_offset", false)) ? 1 : 0);
  const std::int64_t total = call.size(indices, 0).value();
  if (bags < 1 || total % bags != 0) return Call::unsupported("embedding_bag needs bags of equal size");
  const std::int64_t length = total / bags;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    if (length == 0 || (*starts)[i] != static_cast<std::int64_t>(i) * length) {
      return Call::unsupported("embedding_bag needs bags of equal size");
    }
  }
  const ValueId rows = TRY(pick(call, weight, 0, TRY(call.reshape(indices, {Dim(bags), Dim(length)}))));
  constexpr Op kModes[] = {Op::kSum, Op::kMean, Op::kAmax};
  if (mode < 0 || mode > 2) return bad_input(fmt::format("embedding_bag: unsupported mode {}", mode));
  const ValueId bag = TRY(call.emit(kModes[mode], ReduceAttrs{{1}, false}, {rows}));
  // The other results serve the backward pass only; what is in them here says nothing.
  std::vector<ValueId> results{bag};
  for (std::size_t i = 1; i < call.result_count(); ++i) {
    if (call.result(i).rank() > 2) return Call::unsupported("embedding_bag with a result of rank 3 is not supported");
    results.push_back(TRY(call.expand(call.scalar(std::int64_t{0}, call.result(i).dtype), call.result(i).shape)));
  }
  return results;
}

// Is the number of the class, class by class.
Expected<std::vector<ValueId>> read_one_hot(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  std::int64_t classes = TRY(call.integer("num_classes", -1));
  if (classes < 0 && call.result().rank() > 0 && call.result().shape.back().is_fixed()) {
    classes = call.result().shape.back().value();
  }
  if (classes < 1) return Call::unsupported("one_hot needs num_classes: it depends on the values of a tensor");
  if (classes > kMaxElements) return Call::unsupported("too many classes");
  Ints numbers(static_cast<std::size_t>(classes));
  std::iota(numbers.begin(), numbers.end(), 0);
  const ValueId column = TRY(call.cast(TRY(unsqueeze(call, self, call.rank(self))), DType::kI64));
  return one(call.cast(TRY(call.binary(Op::kEq, column, call.integers(numbers))), DType::kI64));
}

// How many boundaries lie below each number, or not above it; NaN lies above all of them.
Expected<std::vector<ValueId>> count_boundaries(Call& call, ValueId boundaries, ValueId values, bool is_right) {
  const DType dtype = promoted(call.type(boundaries).dtype, false, call.type(values).dtype, call.rank(values) == 0);
  const ValueId line = TRY(call.cast(boundaries, dtype));
  const ValueId number = TRY(call.cast(TRY(unsqueeze(call, values, call.rank(values))), dtype));
  ValueId wide = line;
  if (call.rank(line) > 1) wide = TRY(unsqueeze(call, line, call.rank(line) - 1));
  const ValueId is_beyond = TRY(call.binary(is_right ? Op::kGt : Op::kGe, wide, number));
  const ValueId counted = TRY(call.cast(TRY(call.unary(Op::kLogicalNot, is_beyond)), DType::kI64));
  const ValueId sum = TRY(call.emit(Op::kSum, ReduceAttrs{{call.rank(counted) - 1}, false}, {counted}));
  return one(call.cast(sum, TRY(call.flag("out_int32", false)) ? DType::kI32 : DType::kI64));
}

Expected<ValueId> tensor_or_scalar(Call& call, std::string_view name, DType dtype) {
  if (const auto tensor = call.tensor_if(name)) return *tensor;
  return call.operand(name, dtype);
}

Expected<std::vector<ValueId>> read_bucketize(Call& call) {
  const ValueId boundaries = TRY(call.tensor("boundaries"));
  const ValueId values = TRY(tensor_or_scalar(call, "self", call.type(boundaries).dtype));
  if (call.rank(boundaries) != 1)
    return bad_input(fmt::format("boundaries have rank {}, expected 1", call.rank(boundaries)));
  return count_boundaries(call, boundaries, values, TRY(call.flag("right", false)));
}

Expected<std::vector<ValueId>> read_searchsorted(Call& call) {
  const ValueId sorted = TRY(call.tensor("sorted_sequence"));
  if (call.has("sorter")) return Call::unsupported("searchsorted with a sorter is not supported");
  if (call.rank(sorted) == 0) return bad_input("the sorted sequence is a 0-d tensor");
  const ValueId values = TRY(tensor_or_scalar(call, "self", call.type(sorted).dtype));
  if (call.rank(sorted) > 1 && call.rank(sorted) != call.rank(values))
    return bad_input("the sequences and the values differ in rank");
  const bool is_right = TRY(call.flag("right", false)) || TRY(call.text("side", "left")) == "right";
  return count_boundaries(call, sorted, values, is_right);
}

Expected<std::vector<ValueId>> read_isin(Call& call) {
  const DType fallback = DType::kI64;
  const ValueId elements = TRY(tensor_or_scalar(call, "elements", fallback));
  const ValueId tests = TRY(flattened(
      call, TRY(tensor_or_scalar(call, call.has("test_element") ? "test_element" : "test_elements", fallback))));
  const DType dtype = promoted(call.type(elements).dtype, false, call.type(tests).dtype, false);
  const ValueId column = TRY(call.cast(TRY(unsqueeze(call, elements, call.rank(elements))), dtype));
  const ValueId is_equal = TRY(call.binary(Op::kEq, column, TRY(call.cast(tests, dtype))));
  const ValueId is_any = TRY(call.emit(Op::kAny, ReduceAttrs{{call.rank(elements)}, false}, {is_equal}));
  return one(TRY(call.flag("invert", false)) ? call.unary(Op::kLogicalNot, is_any) : is_any);
}

Expected<std::vector<ValueId>> read_data_dependent(Call&) {
  return Call::unsupported("the output size depends on the values of a tensor");
}

Expected<std::vector<ValueId>> read_col2im(Call& call) {
  ValueId self = TRY(call.tensor("self"));
  FoldAttrs fold;
  fold.size = TRY(call.integers("output_size"));
  fold.kernel = TRY(call.integers("kernel_size"));
  fold.stride = TRY(call.integers("stride", Ints{1, 1}));
  fold.padding = TRY(call.integers("padding", Ints{0, 0}));
  fold.dilation = TRY(call.integers("dilation", Ints{1, 1}));
  for (Ints* list : {&fold.size, &fold.kernel, &fold.stride, &fold.padding, &fold.dilation}) {
    if (list->size() == 1) list->push_back((*list)[0]);
    TRY(demand_list(*list, 2, 0, "invalid argument of col2im"));
  }
  const bool is_single = call.rank(self) == 2;
  if (is_single) self = TRY(unsqueeze(call, self, 0));
  if (call.rank(self) != 3) return bad_input(fmt::format("unsupported windows of rank {}", call.rank(self)));
  const Shape shape = call.shape(self);
  ValueId picture = self;
  const bool is_tiled = fold.kernel == fold.stride && fold.padding == Ints{0, 0} && fold.dilation == Ints{1, 1} &&
                        fold.kernel[0] > 0 && fold.kernel[1] > 0 && fold.size[0] % fold.kernel[0] == 0 &&
                        fold.size[1] % fold.kernel[1] == 0;
  const auto channels = call.exprs().divide_exactly(shape[1], fold.kernel[0] * fold.kernel[1]);
  if (is_tiled && channels) {
    // Windows side by side only have to be put into order.
    const Dim rows = fold.size[0] / fold.kernel[0];
    const Dim columns = fold.size[1] / fold.kernel[1];
    const Shape parts = {shape[0], *channels, Dim(fold.kernel[0]), Dim(fold.kernel[1]), rows, columns};
    const ValueId apart = TRY(call.reshape(self, parts));
    const ValueId ordered = TRY(call.permute(apart, {0, 1, 4, 2, 5, 3}));
    picture = TRY(call.reshape(ordered, {shape[0], *channels, Dim(fold.size[0]), Dim(fold.size[1])}));
  } else {
    picture = TRY(call.emit(Op::kCol2im, std::move(fold), {self}));
  }
  return one(is_single ? call.reshape(picture, with_axis(call.shape(picture), 0, {})) : picture);
}

}  // namespace

std::vector<Spelling> index_select_spellings() { return {{"aten.index_select", read_index_select}}; }

std::vector<Spelling> gather_spellings() {
  return {
      {"aten.gather", read_gather},
      {"aten.take_along_dim", read_take_along_dim},
  };
}

std::vector<Spelling> fold_spellings() { return {{"aten.col2im", read_col2im}}; }

std::vector<Spelling> lookup_spellings() {
  return {
      {"aten.take", read_take},
      {"aten.embedding", read_embedding},
      {"aten.embedding_bag", read_embedding_bag},
      {"aten._embedding_bag", read_embedding_bag},
      {"aten._embedding_bag_forward_only", read_embedding_bag},
      {"aten.one_hot", read_one_hot},
      {"aten.bucketize", read_bucketize},
      {"aten.searchsorted", read_searchsorted},
      {"aten.isin", read_isin},
      {"aten.nonzero", read_data_dependent},
      {"aten.nonzero_numpy", read_data_dependent},
      {"aten.argwhere", read_data_dependent},
      {"aten.masked_select", read_data_dependent},
      {"aten.unique_dim", read_data_dependent},
      {"aten._unique2", read_data_dependent},
      {"aten.unique_consecutive", read_data_dependent},
  };
}

}  // namespace isthmus
