// Names about diagonals and triangles of matrices: diagonal, diag_embed, tril, block_diag.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "ops/families/movement.h"
#include "ops/known.h"

namespace isthmus {
namespace {

// Offsets beyond this lie outside of any matrix.
constexpr std::int64_t kMaxOffset = std::int64_t{1} << 31;

Expected<std::int64_t> offset_of(Call& call, std::string_view name) {
  return std::clamp(TRY(call.integer(name, 0)), -kMaxOffset, kMaxOffset);
}

struct Axes {
  std::int64_t a;
  std::int64_t b;
};

Expected<Axes> axes_of(Call& call, std::int64_t rank, std::int64_t a, std::int64_t b) {
  if (rank < 2) return bad_input(fmt::format("diagonal needs at least rank 2, the input has rank {}", rank));
  const Axes axes{TRY(call.axis("dim1", rank, a)), TRY(call.axis("dim2", rank, b))};
  if (axes.a == axes.b) return bad_input("diagonal needs two different axes");
  return axes;
}

Expected<std::vector<ValueId>> read_diagonal(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const Axes axes = TRY(axes_of(call, call.rank(self), 0, 1));
  const Moved moved = TRY(to_the_end(call, self, axes.a, axes.b));
  return one(diagonal_of_last(call, moved.value, TRY(offset_of(call, "offset"))));
}

Expected<std::vector<ValueId>> read_linalg_diagonal(Call& call) {
  const ValueId self = TRY(call.tensor("A"));
  const Axes axes = TRY(axes_of(call, call.rank(self), -2, -1));
  const Moved moved = TRY(to_the_end(call, self, axes.a, axes.b));
  return one(diagonal_of_last(call, moved.value, TRY(offset_of(call, "offset"))));
}

// The last axis as a diagonal of two new last axes, zero elsewhere.
Expected<ValueId> embedded(Call& call, ValueId value, std::int64_t offset) {
  const Dim size = call.size(value, call.rank(value) - 1);
  if (!size.is_fixed()) return Call::unsupported("a diagonal matrix needs a static size");
  const std::int64_t side = size.value() + std::abs(offset);
  if (side > kMaxElements) return Call::unsupported("the diagonal matrix is too large");
  ValueId row = value;
  if (offset != 0) {
    PadAttrs pad;
    pad.before.assign(static_cast<std::size_t>(call.rank(value)), 0);
    pad.after = pad.before;
    (offset > 0 ? pad.before : pad.after).back() = std::abs(offset);
    row = TRY(call.emit(Op::kPad, std::move(pad), {value}));
  }
  row = TRY(unsqueeze(call, row, call.rank(row) - 1));
  const ValueId mask = TRY(band_mask(call, side, side, offset, offset));
  return call.emit(Op::kWhere, NoAttrs{}, {mask, row, call.scalar(std::int64_t{0}, call.type(value).dtype)});
}

Expected<std::vector<ValueId>> read_diag_embed(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  if (call.rank(self) == 0) return bad_input("diag_embed needs at least one dimension");
  const std::int64_t rank = call.rank(self) + 1;
  const Axes axes = TRY(axes_of(call, rank, -2, -1));
  const std::int64_t offset = TRY(offset_of(call, "offset"));
  // Swapped axes mean the other side of the diagonal.
  const ValueId matrix = TRY(embedded(call, self, axes.a < axes.b ? offset : -offset));
  Ints order;
  for (std::int64_t axis = 0, next = 0; axis < rank; ++axis) {
    const bool is_first = axis == std::min(axes.a, axes.b);
    const bool is_second = axis == std::max(axes.a, axes.b);
    order.push_back(is_first ? rank - 2 : is_second ? rank - 1 : next++);
  }
  return one(call.permute(matrix, std::move(order)));
}

Expected<std::vector<ValueId>> read_diag(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const std::int64_t offset = TRY(offset_of(call, "diagonal"));
  if (call.rank(self) == 2) return one(diagonal_of_last(call, self, offset));
  if (call.rank(self) == 1) return one(embedded(call, self, offset));
  return bad_input(fmt::format("diag needs rank 1 or 2, the input has rank {}", call.rank(self)));
}

Expected<std::vector<ValueId>> read_diagflat(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const ValueId flat = TRY(call.reshape(self, {call.exprs().product(call.shape(self))}));
  return one(embedded(call, flat, TRY(offset_of(call, "offset"))));
}

Expected<std::vector<ValueId>> keep_band(Call& call, bool is_lower) {
  const ValueId self = TRY(call.tensor("self"));
  const std::int64_t rank = call.rank(self);
  if (rank < 2) return bad_input(fmt::format("tril and triu need at least rank 2, the input has rank {}", rank));
  const std::int64_t diagonal = TRY(offset_of(call, "diagonal"));
  const ValueId mask = TRY(band_mask(call, call.size(self, rank - 2), call.size(self, rank - 1),
                                     is_lower ? -2 * kMaxOffset : diagonal, is_lower ? diagonal : 2 * kMaxOffset));
  return one(call.emit(Op::kWhere, NoAttrs{}, {mask, self, call.scalar(std::int64_t{0}, call.type(self).dtype)}));
}
Expected<std::vector<ValueId>> read_tril(Call& call) { return keep_band(call, true); }
Expected<std::vector<ValueId>> read_triu(Call& call) { return keep_band(call, false); }

Expected<std::vector<ValueId>> read_fill_diagonal(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  if (call.rank(self) != 2) return Call::unsupported("fill_diagonal needs a matrix");
  const auto sizes = fixed_sizes(call.shape(self));
  const bool is_tall = !sizes || (*sizes)[0] > (*sizes)[1];
  if (TRY(call.flag("wrap", false)) && is_tall) return Call::unsupported("fill_diagonal with wrap is not supported");
  const ValueId mask = TRY(band_mask(call, call.size(self, 0), call.size(self, 1), 0, 0));
  const ValueId value = TRY(call.operand("fill_value", call.type(self).dtype));
  return one(call.emit(Op::kWhere, NoAttrs{}, {mask, value, self}));
}

// Positions (row, column) of a triangle, row by row.
Expected<std::vector<ValueId>> triangle_positions(Call& call, bool is_lower) {
  const std::int64_t rows = TRY(call.integer("row"));
  const std::int64_t columns = TRY(call.integer("col"));
  const std::int64_t offset = TRY(offset_of(call, "offset"));
  if (rows < 0 || columns < 0) return bad_input(fmt::format("invalid triangle of {} by {}", rows, columns));
  if (rows > kMaxElements || columns > kMaxElements / std::max<std::int64_t>(rows, 1)) {
    return Call::unsupported("the triangle is too large");
  }
  Ints positions[2];
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      if (is_lower ? j - i > offset : j - i < offset) continue;
      positions[0].push_back(i);
      positions[1].push_back(j);
    }
  }
  const auto count = static_cast<std::int64_t>(positions[0].size());
  std::ranges::copy(positions[1], std::back_inserter(positions[0]));
  const ValueId flat = TRY(call.cast(call.integers(positions[0]), TRY(call.dtype("dtype", DType::kI64))));
  return one(call.reshape(flat, {Dim(2), Dim(count)}));
}
Expected<std::vector<ValueId>> read_tril_indices(Call& call) { return triangle_positions(call, true); }
Expected<std::vector<ValueId>> read_triu_indices(Call& call) { return triangle_positions(call, false); }

Expected<std::vector<ValueId>> read_block_diag(Call& call) {
  std::vector<ValueId> blocks = TRY(call.tensors("tensors"));
  if (blocks.empty()) return Call::unsupported("block_diag needs at least one block");
  std::int64_t columns = 0;
  for (ValueId& block : blocks) {
    Shape shape = call.shape(block);
    if (shape.size() > 2) return bad_input(fmt::format("a block has rank {}, expected at most 2", shape.size()));
    shape.insert(shape.begin(), 2 - shape.size(), Dim(1));
    if (!shape[1].is_fixed()) return Call::unsupported("block_diag needs static sizes");
    if (__builtin_add_overflow(columns, shape[1].value(), &columns)) return bad_input("the blocks are too wide");
    block = TRY(call.cast(TRY(call.reshape(block, std::move(shape))), call.result().dtype));
  }
  std::int64_t before = 0;
  for (ValueId& block : blocks) {
    const std::int64_t width = call.size(block, 1).value();
    if (width != columns) {
      block = TRY(
          call.emit(Op::kPad, PadAttrs{PadMode::kConstant, {0, before}, {0, columns - width - before}, 0}, {block}));
    }
    before += width;
  }
  return one(call.cat(std::move(blocks), 0));
}

}  // namespace

Expected<Moved> to_the_end(Emitter& emitter, ValueId value, std::int64_t a, std::int64_t b) {
  Ints order;
  for (std::int64_t axis = 0; axis < emitter.rank(value); ++axis) {
    if (axis != a && axis != b) order.push_back(axis);
  }
  order.push_back(a);
  order.push_back(b);
  Ints back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return Moved{TRY(emitter.permute(value, std::move(order))), std::move(back)};
}

// Of a matrix row by row, each element of the diagonal lies one row and one element after the last.
Expected<ValueId> diagonal_of_last(Emitter& emitter, ValueId value, std::int64_t offset) {
  const Shape shape = emitter.shape(value);
  const Dim rows = shape[shape.size() - 2];
  const Dim columns = shape.back();
  if (!rows.is_fixed() || !columns.is_fixed()) return Call::unsupported("diagonal needs static sizes");
  const std::int64_t below = std::max<std::int64_t>(-offset, 0);
  const std::int64_t above = std::max<std::int64_t>(offset, 0);
  const std::int64_t count = std::max<std::int64_t>(std::min(rows.value() - below, columns.value() - above), 0);
  Shape flat(shape.begin(), shape.end() - 2);
  flat.push_back(emitter.exprs().multiply(rows, columns));
  const auto axis = static_cast<std::int64_t>(flat.size()) - 1;
  const ValueId line = TRY(emitter.reshape(value, std::move(flat)));
  const std::int64_t start = count == 0 ? 0 : below * columns.value() + above;
  return strided_slice(emitter, line, axis, start, count, columns.value() + 1);
}

Expected<ValueId> band_mask(Emitter& emitter, Dim rows, Dim columns, std::int64_t min, std::int64_t max) {
  if (rows.is_fixed() && columns.is_fixed() && rows.value() >= 0 && columns.value() >= 0 &&
      columns.value() <= kMaxElements / std::max<std::int64_t>(rows.value(), 1)) {
    std::vector<std::byte> bytes;
    for (std::int64_t i = 0; i < rows.value(); ++i) {
      for (std::int64_t j = 0; j < columns.value(); ++j) bytes.push_back(std::byte{j - i >= min && j - i <= max});
    }
    return emitter.constant(
        {DType::kBool, {rows.value(), columns.value()}, {columns.value(), 1}, 0, Blob::owning(std::move(bytes))});
  }
  const ValueId row = TRY(emitter.emit(Op::kArange, ArangeAttrs{0, rows, 1, DType::kI64}, {}));
  const ValueId column = TRY(emitter.emit(Op::kArange, ArangeAttrs{0, columns, 1, DType::kI64}, {}));
  const ValueId distance = TRY(emitter.binary(Op::kSub, column, TRY(emitter.reshape(row, {rows, Dim(1)}))));
  const ValueId is_below = TRY(emitter.binary(Op::kLe, distance, emitter.scalar(max, DType::kI64)));
  const ValueId is_above = TRY(emitter.binary(Op::kGe, distance, emitter.scalar(min, DType::kI64)));
  return emitter.binary(Op::kLogicalAnd, is_above, is_below);
}

std::vector<Spelling> diagonal_spellings() {
  return {
      {"aten.diagonal", read_diagonal, Aliasing::kView},
      {"aten.linalg_diagonal", read_linalg_diagonal, Aliasing::kView},
      {"aten.diag", read_diag},
      {"aten.diag_embed", read_diag_embed},
      {"aten.diagflat", read_diagflat},
      {"aten.tril", read_tril},
      {"aten.triu", read_triu},
      {"aten.fill_diagonal", read_fill_diagonal},
      {"aten.tril_indices", read_tril_indices},
      {"aten.triu_indices", read_triu_indices},
      {"aten.block_diag", read_block_diag},
  };
}

}  // namespace isthmus
