// Operators of ONNX that move numbers.
#include "ops/families/movement.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ops/known.h"
#include "ops/onnx/families.h"
#include "ops/onnx/reading.h"

namespace isthmus::onnx_ops {
namespace {

// 0 copies a size of the input, -1 takes what is left.
Expected<Values> read_reshape(Call& call) {
  const ValueId data = TRY(call.tensor("data"));
  Dims shape = TRY(sizes(call, "shape"));
  const Shape from = call.shape(data);
  const bool allows_zero = TRY(call.flag("allowzero", false));
  std::optional<std::size_t> left;
  Dim product = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].is(0) && !allows_zero) {
      if (i >= from.size()) return bad_input(fmt::format("size {} is copied from an input of rank {}", i, from.size()));
      shape[i] = from[i];
    }
    if (shape[i].is(-1)) {
      if (left) return bad_input("two sizes are -1");
      left = i;
    } else {
      if (shape[i].is_fixed() && shape[i].value() < 0)
        return bad_input(fmt::format("size {} is out of range", shape[i].value()));
      product = call.exprs().multiply(product, shape[i]);
    }
  }
  if (left) {
    const Dim all = call.exprs().product(from);
    std::optional<Dim> rest;
    if (all.is_fixed() && product.is_fixed()) {
      if (product.is(0) || all.value() % product.value() != 0) {
        return bad_input(
            fmt::format("{} elements do not fill a shape with a multiple of {}", all.value(), product.value()));
      }
      rest = Dim(all.value() / product.value());
    } else {
      rest = call.exprs().divide_exactly(all, product);
      if (!rest) rest = call.exprs().floor_divide(all, product);
    }
    shape[*left] = *rest;
  }
  return one(call.reshape(data, std::move(shape)));
}

Expected<Values> read_flatten(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  const std::int64_t rank = call.rank(input);
  std::int64_t axis = TRY(call.integer("axis", 1));
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return bad_input(fmt::format("axis {} is out of range for rank {}", axis, rank));
  const Shape shape = call.shape(input);
  const auto at = static_cast<std::size_t>(axis);
  const Dim rows = call.exprs().product(std::span(shape).first(at));
  return one(call.reshape(input, {rows, call.exprs().product(std::span(shape).subspan(at))}));
}

Expected<Values> read_squeeze(Call& call) {
  const ValueId data = TRY(call.tensor("data"));
  const Shape from = call.shape(data);
  Ints axes;
  if (call.has("axes")) {
    axes = TRY(normal_axes(TRY(integers(call, "axes")), call.rank(data), false));
  } else {
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i].is(1)) axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  Shape shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!std::ranges::binary_search(axes, static_cast<std::int64_t>(i))) {
      shape.push_back(from[i]);
    } else if (from[i].is_fixed() && from[i].value() != 1) {
      return bad_input(fmt::format("axis {} has size {}, expected 1", i, from[i].value()));
    }
  }
  return one(call.reshape(data, std::move(shape)));
}

Expected<Values> read_unsqueeze(Call& call) {
  const ValueId data = TRY(call.tensor("data"));
  const Ints given = TRY(integers(call, "axes"));
  const std::int64_t rank = call.rank(data) + static_cast<std::int64_t>(given.size());
  const Ints axes = TRY(normal_axes(given, rank, false));
  if (axes.size() != given.size()) return bad_input("an axis occurs twice");
  Shape shape = call.shape(data);
  for (const std::int64_t axis : axes) shape.insert(shape.begin() + axis, Dim(1));
  return one(call.reshape(data, std::move(shape)));
}

// Axes may be counted from the end: not by the letter, but some exporters do.
Expected<Values> read_transpose(Call& call) {
  const ValueId data = TRY(call.tensor("data"));
  Ints axes(static_cast<std::size_t>(call.rank(data)));
  std::iota(axes.rbegin(), axes.rend(), 0);
  if (call.has("perm")) {
    axes = TRY(call.integers("perm"));
    for (std::int64_t& axis : axes) axis = TRY(normal_axis(axis, call.rank(data)));
  }
  return one(call.permute(data, std::move(axes)));
}

Expected<Values> read_concat(Call& call) {
  const Values inputs = TRY(call.tensors("inputs"));
  if (inputs.empty()) return bad_input(call.target() + ": no inputs");
  const std::int64_t axis = TRY(call.axis("axis", call.rank(inputs[0]), 1));
  if (inputs.size() == 1) return one(inputs[0]);
  return one(call.cat(inputs, axis));
}

Expected<Values> read_split(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  const std::int64_t axis = TRY(call.axis("axis", call.rank(input), 0));
  const Dim size = call.size(input, axis);
  Ints parts;
  if (call.has("split")) {
    parts = TRY(integers(call, "split"));
  } else {
    const std::int64_t count = TRY(call.integer("num_outputs", static_cast<std::int64_t>(call.result_count())));
    if (!size.is_fixed()) return Call::unsupported("Split needs a static axis");
    if (count < 1) return bad_input(fmt::format("{} parts", count));
    const std::int64_t length = (size.value() + count - 1) / count;
    for (std::int64_t i = 0; i < count; ++i) {
      parts.push_back(std::clamp<std::int64_t>(size.value() - i * length, 0, length));
    }
  }
  std::int64_t start = 0;
  Values results;
  for (const std::int64_t part : parts) {
    if (part < 0 || part > (std::int64_t{1} << 40)) return bad_input(fmt::format("invalid part of size {}", part));
    results.push_back(TRY(call.slice(input, axis, start, start + part)));
    start += part;
  }
  if (size.is_fixed() && start != size.value()) {
    return bad_input(fmt::format("parts add up to {}, the axis has size {}", start, size.value()));
  }
  return results;
}

// Bounds as Python has them, also with negative steps.
Expected<ValueId> slice_axis(Call& call, ValueId value, std::int64_t axis, Dim start, Dim end, std::int64_t step) {
  if (step == 0) return bad_input("the step is 0");
  const Dim size = call.size(value, axis);
  if (step > 0) {
    const Range range = python_range(call.exprs(), size, start, end);
    return call.slice(value, axis, range.start, range.end, step);
  }
  // From the end: the same elements forwards, then turned round.
  if (!size.is_fixed() || !start.is_fixed() || !end.is_fixed()) {
    return Call::unsupported("a slice with a negative step needs a static axis");
  }
  const std::int64_t n = size.value();
  const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + n : at, -1, n - 1); };
  const std::int64_t first = place(std::max(start.value(), -n - 1));
  const std::int64_t last = end.value() < -n ? -1 : place(end.value());
  const std::int64_t stride = step < -n - 1 ? n + 1 : -step;
  const std::int64_t count = first > last ? (first - last + stride - 1) / stride : 0;
  if (count == 0) return call.slice(value, axis, 0, 0);
  const ValueId forwards = TRY(strided_slice(call, value, axis, Dim(first - (count - 1) * stride), Dim(count), stride));
  return call.emit(Op::kFlip, AxesAttrs{{axis}}, {forwards});
}

Expected<Values> read_slice(Call& call) {
  ValueId data = TRY(call.tensor("data"));
  const Dims starts = TRY(sizes(call, "starts"));
  const Dims ends = TRY(sizes(call, "ends"));
  Ints all(starts.size());
  std::iota(all.begin(), all.end(), 0);
  const Ints axes = TRY(integers(call, "axes", all));
  const Ints steps = TRY(integers(call, "steps", Ints(starts.size(), 1)));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return bad_input("starts, ends, axes and steps differ in length");
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = TRY(normal_axis(axes[i], call.rank(data)));
    data = TRY(slice_axis(call, data, axis, starts[i], ends[i], steps[i]));
  }
  return one(data);
}

// To the shape that both broadcast to.
Expected<Values> read_expand(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  Dims shape = TRY(sizes(call, "shape"));
  const Shape own = call.shape(input);
  if (shape.size() < own.size()) shape.insert(shape.begin(), own.size() - shape.size(), Dim(1));
  for (std::size_t i = 0; i < own.size(); ++i) {
    Dim& size = shape[shape.size() - own.size() + i];
    if (size.is(1)) size = own[i];
  }
  return one(call.expand(input, std::move(shape)));
}

Expected<Values> read_tile(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  // In opset 1 a count and an axis.
  if (call.has("axis")) {
    Dims repeats(call.shape(input).size(), Dim(1));
    repeats[static_cast<std::size_t>(TRY(normal_axis(TRY(integer(call, "axis")), call.rank(input))))] =
        TRY(integer(call, "repeats"));
    return TorchCall(call, "aten.repeat").tensor("self", input).integers("repeats", repeats).read();
  }
  return TorchCall(call, "aten.repeat").tensor("self", input).integers("repeats", TRY(sizes(call, "repeats"))).read();
}

// Before and after of every axis: all that come before, then all that come after.
Expected<Values> read_pad(Call& call) {
  const ValueId data = TRY(call.tensor("data"));
  const Dims given = TRY(sizes(call, call.has("paddings") ? "paddings" : "pads"));
  const std::int64_t rank = call.rank(data);
  Ints axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has("axes")) {
    axes = TRY(integers(call, "axes"));
    for (std::int64_t& axis : axes) axis = TRY(normal_axis(axis, rank));
  }
  if (given.size() != 2 * axes.size()) return bad_input(fmt::format("{} pads for {} axes", given.size(), axes.size()));
  Dims pads(2 * static_cast<std::size_t>(rank), Dim(0));  // the last axis first, before and after of each
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto place = static_cast<std::size_t>(2 * (rank - 1 - axes[i]));
    pads[place] = given[i];
    pads[place + 1] = given[i + axes.size()];
  }
  std::string mode = TRY(call.text("mode", "constant"));
  if (mode == "edge") mode = "replicate";
  if (mode == "wrap") mode = "circular";
  const double value = call.has("value") ? TRY(call.number("value")) : TRY(number(call, "constant_value", 0));
  return TorchCall(call, "aten.pad")
      .tensor("self", data)
      .integers("pad", pads)
      .text("mode", mode)
      .number("value", value)
      .read();
}

// Blocks of channels become blocks of pixels.
Expected<Values> read_depth_to_space(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  const std::int64_t block = TRY(call.integer("blocksize"));
  const Shape shape = call.shape(input);
  if (shape.size() != 4 || block < 1 || block > 65536)
    return bad_input(call.target() + ": expected an image and a block size");
  const auto channels = call.exprs().divide_exactly(shape[1], block * block);
  if (!channels) return bad_input(fmt::format("{} channels in blocks of {}", call.exprs().text(shape[1]), block));
  Exprs& exprs = call.exprs();
  const Shape result{shape[0], *channels, exprs.multiply(shape[2], block), exprs.multiply(shape[3], block)};
  if (TRY(call.text("mode", "DCR")) == "CRD") {
    return TorchCall(call, "aten.pixel_shuffle").tensor("self", input).integer("upscale_factor", block).read();
  }
  const ValueId apart = TRY(call.reshape(input, {shape[0], block, block, *channels, shape[2], shape[3]}));
  return one(call.reshape(TRY(call.permute(apart, {0, 3, 4, 1, 5, 2})), result));
}

Expected<Values> read_space_to_depth(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  const std::int64_t block = TRY(call.integer("blocksize"));
  const Shape shape = call.shape(input);
  if (shape.size() != 4 || block < 1 || block > 65536)
    return bad_input(call.target() + ": expected an image and a block size");
  const auto height = call.exprs().divide_exactly(shape[2], block);
  const auto width = call.exprs().divide_exactly(shape[3], block);
  if (!height || !width) return bad_input(fmt::format("the image size is not divisible by {}", block));
  const ValueId apart = TRY(call.reshape(input, {shape[0], shape[1], *height, block, *width, block}));
  const ValueId moved = TRY(call.permute(apart, {0, 3, 5, 1, 2, 4}));
  return one(call.reshape(moved, {shape[0], call.exprs().multiply(shape[1], block * block), *height, *width}));
}

// Each row of a batch turned round up to its own length, which must be known.
Expected<Values> read_reverse_sequence(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  const Ints lengths = TRY(integers(call, "sequence_lens"));
  const std::int64_t time = TRY(call.axis("time_axis", call.rank(input), 0));
  const std::int64_t batch = TRY(call.axis("batch_axis", call.rank(input), 1));
  const Dim steps = call.size(input, time);
  if (time == batch) return bad_input("time and batch have the same axis");
  if (!steps.is_fixed()) return Call::unsupported("the sequence needs a static length");
  Values rows;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const ValueId row = TRY(call.slice(input, batch, at, at + 1));
    if (lengths[i] < 0 || lengths[i] > steps.value()) return bad_input(fmt::format("invalid length {}", lengths[i]));
    const ValueId head = TRY(call.slice(row, time, 0, lengths[i]));
    const ValueId turned = TRY(call.emit(Op::kFlip, AxesAttrs{{time}}, {head}));
    if (lengths[i] == steps.value()) {
      rows.push_back(turned);
    } else {
      rows.push_back(TRY(call.cat({turned, TRY(call.slice(row, time, lengths[i], steps))}, time)));
    }
  }
  if (rows.empty()) return one(input);
  return one(call.cat(std::move(rows), batch));
}

Expected<Values> read_trilu(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  const std::string name = TRY(call.flag("upper", true)) ? "aten.triu" : "aten.tril";
  return TorchCall(call, name).tensor("self", input).integer("diagonal", TRY(integer(call, "k", 0))).read();
}

Expected<Values> read_compress(Call& call) {
  ValueId input = TRY(call.tensor("input"));
  const Ints condition = TRY(integers(call, "condition"));
  std::int64_t axis = 0;
  if (call.has("axis")) {
    axis = TRY(call.axis("axis", call.rank(input)));
  } else {
    input = TRY(call.reshape(input, {call.exprs().product(call.shape(input))}));
  }
  Ints places;
  for (std::size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] != 0) places.push_back(static_cast<std::int64_t>(i));
  }
  return one(select_positions(call, input, axis, places));
}

// Cut or padded around the middle.
Expected<Values> read_center_crop_pad(Call& call) {
  ValueId value = TRY(call.tensor("input_data"));
  const Ints shape = TRY(integers(call, "shape"));
  Ints axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = TRY(call.integers("axes", axes));
  if (axes.size() != shape.size()) return bad_input("axes and shape differ in length");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = TRY(normal_axis(axes[i], call.rank(value)));
    const Dim size = call.size(value, axis);
    if (!size.is_fixed()) return Call::unsupported("CenterCropPad needs a static axis");
    const std::int64_t gap = shape[i] - size.value();
    if (gap < 0) {
      value = TRY(call.slice(value, axis, -gap / 2, -gap / 2 + shape[i]));
    } else if (gap > 0) {
      PadAttrs pad{PadMode::kConstant, Ints(static_cast<std::size_t>(call.rank(value)), 0), {}, 0};
      pad.after = pad.before;
      pad.before[static_cast<std::size_t>(axis)] = gap / 2;
      pad.after[static_cast<std::size_t>(axis)] = gap - gap / 2;
      value = TRY(call.emit(Op::kPad, std::move(pad), {value}));
    }
  }
  return one(value);
}

}  // namespace

Family movement_family() {
  static constexpr Row kRows[] = {
      row("onnx.Reshape", "data shape", read_reshape),
      row("onnx.Flatten", "input", read_flatten),
      row("onnx.Squeeze", "data axes", read_squeeze),
      row("onnx.Unsqueeze", "data axes", read_unsqueeze),
      row("onnx.Transpose", "data", read_transpose),
      row("onnx.Concat", "inputs...", read_concat),
      row("onnx.Split", "input split", read_split),
      row("onnx.Slice", "data starts ends axes steps", read_slice),
      row("onnx.Expand", "input shape", read_expand),
      row("onnx.Tile", "input repeats axis", read_tile),
      row("onnx.Pad", "data pads constant_value axes", read_pad),
      row("onnx.DepthToSpace", "input", read_depth_to_space),
      row("onnx.SpaceToDepth", "input", read_space_to_depth),
      row("onnx.ReverseSequence", "input sequence_lens", read_reverse_sequence),
      row("onnx.Trilu", "input k", read_trilu),
      row("onnx.Compress", "input condition", read_compress),
      row("onnx.CenterCropPad", "input_data shape", read_center_crop_pad),
  };
  return family_of("onnx movement", kRows);
}

}  // namespace isthmus::onnx_ops
