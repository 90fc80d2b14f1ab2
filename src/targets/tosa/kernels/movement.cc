// Operators that move elements and change none.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/untrusted_text.h"
#include "targets/tosa/rules.h"
#include "targets/tosa/walk.h"

namespace isthmus::tosa {
namespace {

std::size_t element_of(const Operand& operand) { return size_of(memory_type(operand.type)); }

// A kernel that copies one element from where `strides` lead, beginning `offset` elements into the input.
Kernel strided(const Site& site, Sizes sizes, Sizes strides, std::int64_t offset) {
  return {[sizes = std::move(sizes), strides = std::move(strides), element = element_of(site.output),
           offset](const Call& call) -> Expected<void> {
    copy_strided(sizes, call.inputs[0] + offset * static_cast<std::int64_t>(element), strides, call.output,
                 strides_of(sizes), element);
    return {};
  }};
}

Expected<void> want_shape_of(const Operand& shape, std::string_view what, std::size_t count) {
  if (static_cast<std::size_t>(shape.count) == count) return {};
  return bad_input(fmt::format("{} {} has {} numbers instead of {}", what, shown(shape.name), shape.count, count));
}
Expected<void> want_axes(const Operand& operand) {
  if (operand.rank() >= 1) return {};
  return bad_input(fmt::format("{} has no axes", shown(operand.name)));
}

Expected<void> check_concat(const Site& site) {
  const std::int64_t axis = site.fields<Axis>().axis;
  if (site.inputs.size() > kMaxListed) {
    return bad_input(fmt::format("{} inputs, and level 8K allows {}", site.inputs.size(), kMaxListed));
  }
  TRY(want_axis(axis, site.inputs[0]));
  const auto along = static_cast<std::size_t>(axis);
  Sizes sizes = site.inputs[0].sizes;
  std::int64_t sum = 0;
  for (const Operand& input : site.inputs) {
    TRY(want_rank(input, "an input", sizes.size()));
    sum += input.size(along);
    sizes[along] = input.size(along);
    TRY(want_sizes(input, "an input", sizes));
  }
  sizes[along] = sum;
  return want_sizes(site.output, "the output", sizes);
}
Expected<Kernel> concat_kernel(const SharedSite& site, Resources&) {
  const auto axis = static_cast<std::size_t>(site->fields<Axis>().axis);
  std::size_t rows = 1;
  for (std::size_t i = 0; i < axis; ++i) rows *= static_cast<std::size_t>(site->output.size(i));
  std::vector<std::size_t> lengths;  // in bytes, of a row of each input
  for (const Operand& input : site->inputs) {
    lengths.push_back(static_cast<std::size_t>(input.count) * element_of(input) / rows);
  }
  return Kernel{[rows, lengths](const Call& call) -> Expected<void> {
    std::byte* out = call.output;
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        std::memcpy(out, call.inputs[i] + row * lengths[i], lengths[i]);
        out += lengths[i];
      }
    }
    return {};
  }};
}

Expected<void> check_pad(const Site& site) {
  const Operand& input = site.inputs[0];
  TRY(want_axes(input));
  TRY(want_shape_of(site.inputs[1], "the padding", 2 * input.rank()));
  TRY(want_sizes(site.inputs[2], "the constant", {1}));
  const Sizes padding = site.inputs[1].values();
  Sizes sizes = input.sizes;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    for (const std::int64_t pad : {padding[2 * axis], padding[2 * axis + 1]}) {
      if (pad < 0 || pad > kMaxElements) return bad_input(fmt::format("a padding of {}", pad));
      sizes[axis] += pad;
    }
  }
  return want_sizes(site.output, "the output", sizes);
}
Expected<Kernel> pad_kernel(const SharedSite& site, Resources&) {
  const Sizes padding = site->inputs[1].values();
  const Sizes out_strides = strides_of(site->output.sizes);
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < out_strides.size(); ++axis) offset += padding[2 * axis] * out_strides[axis];
  return with_number(site->output.type, [&]<class Number>(Number) {
    return Kernel{[site, out_strides, offset](const Call& call) -> Expected<void> {
      std::fill_n(call.result<Number>(), site->output.count, *call.input<Number>(2));
      copy_strided(site->inputs[0].sizes, call.inputs[0], strides_of(site->inputs[0].sizes),
                   reinterpret_cast<std::byte*>(call.result<Number>() + offset), out_strides, sizeof(Number));
      return {};
    }};
  });
}

Expected<void> check_identity(const Site& site) { return want_sizes(site.output, "the output", site.inputs[0].sizes); }
Expected<void> check_reshape(const Site& site) {
  TRY(want_sizes(site.output, "the output", site.inputs[1].values()));
  if (site.output.count == site.inputs[0].count) return {};
  return bad_input(fmt::format("{} elements become {}", site.inputs[0].count, site.output.count));
}
Expected<Kernel> copy_kernel(const SharedSite& site, Resources&) {
  const auto bytes = static_cast<std::size_t>(site->output.count) * element_of(site->output);
  return Kernel{[bytes](const Call& call) -> Expected<void> {
    std::memcpy(call.output, call.inputs[0], bytes);
    return {};
  }};
}

Expected<void> check_reverse(const Site& site) {
  TRY(want_axis(site.fields<Axis>().axis, site.inputs[0]));
  return check_identity(site);
}
Expected<Kernel> reverse_kernel(const SharedSite& site, Resources&) {
  const auto axis = static_cast<std::size_t>(site->fields<Axis>().axis);
  Sizes strides = strides_of(site->output.sizes);
  const std::int64_t last = (site->output.size(axis) - 1) * strides[axis];
  strides[axis] = -strides[axis];
  return strided(*site, site->output.sizes, std::move(strides), last);
}

Expected<void> check_slice(const Site& site) {
  const Operand& input = site.inputs[0];
  TRY(want_axes(input));
  TRY(want_shape_of(site.inputs[1], "the start", input.rank()));
  TRY(want_shape_of(site.inputs[2], "the size", input.rank()));
  const Sizes start = site.inputs[1].values();
  const Sizes size = site.inputs[2].values();
  for (std::size_t axis = 0; axis < start.size(); ++axis) {
    if (start[axis] < 0 || size[axis] < 1 || size[axis] > input.size(axis) ||
        start[axis] > input.size(axis) - size[axis]) {
      return bad_input(
          fmt::format("{} elements from {} on of {} along axis {}", size[axis], start[axis], input.size(axis), axis));
    }
  }
  return want_sizes(site.output, "the output", size);
}
Expected<Kernel> slice_kernel(const SharedSite& site, Resources&) {
  Sizes strides = strides_of(site->inputs[0].sizes);
  const Sizes start = site->inputs[1].values();
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < start.size(); ++axis) offset += start[axis] * strides[axis];
  return strided(*site, site->output.sizes, std::move(strides), offset);
}

Expected<void> check_tile(const Site& site) {
  const Operand& input = site.inputs[0];
  TRY(want_axes(input));
  TRY(want_shape_of(site.inputs[1], "the multiples", input.rank()));
  const Sizes multiples = site.inputs[1].values();
  Sizes sizes = input.sizes;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (multiples[axis] < 1 || multiples[axis] > kMaxElements)
      return bad_input(fmt::format("{} times", multiples[axis]));
    sizes[axis] *= multiples[axis];
  }
  return want_sizes(site.output, "the output", sizes);
}
Expected<Kernel> tile_kernel(const SharedSite& site, Resources&) {
  // Each axis is two: the repetitions, which go nowhere, and the elements.
  const Sizes multiples = site->inputs[1].values();
  const Sizes in_strides = strides_of(site->inputs[0].sizes);
  Sizes sizes;
  Sizes strides;
  for (std::size_t axis = 0; axis < multiples.size(); ++axis) {
    sizes.insert(sizes.end(), {multiples[axis], site->inputs[0].size(axis)});
    strides.insert(strides.end(), {0, in_strides[axis]});
  }
  return strided(*site, std::move(sizes), std::move(strides), 0);
}

Expected<void> check_transpose(const Site& site) {
  const Operand& input = site.inputs[0];
  const auto& perms = site.fields<Transpose>().perms;
  TRY(want_axes(input));
  TRY(want_numbers(perms, "the permutation", input.rank(), 0, static_cast<std::int64_t>(input.rank()) - 1));
  std::vector<bool> seen(perms.size(), false);
  Sizes sizes;
  for (const std::int32_t axis : perms) {
    if (seen[static_cast<std::size_t>(axis)]) return bad_input(fmt::format("the permutation has axis {} twice", axis));
    seen[static_cast<std::size_t>(axis)] = true;
    sizes.push_back(input.size(static_cast<std::size_t>(axis)));
  }
  return want_sizes(site.output, "the output", sizes);
}
Expected<Kernel> transpose_kernel(const SharedSite& site, Resources&) {
  const Sizes in_strides = strides_of(site->inputs[0].sizes);
  Sizes strides;
  for (const std::int32_t axis : site->fields<Transpose>().perms) {
    strides.push_back(in_strides[static_cast<std::size_t>(axis)]);
  }
  return strided(*site, site->output.sizes, std::move(strides), 0);
}

constexpr Rule kMovementRules[] = {
    {.op = Op::kConcat, .types = "bool/i8/i16/i32 * > =0", .check = check_concat, .plain = concat_kernel},
    {.op = Op::kIdentity,
     .types = "bool/i4/i8/i16/i32/i48 > =0",
     .check = check_identity,
     .plain = copy_kernel,
     .is_view = true},
    {.op = Op::kPad, .types = "bool/i8/i16/i32 shape =0 > =0", .check = check_pad, .plain = pad_kernel},
    {.op = Op::kReshape,
     .types = "bool/i8/i16/i32 shape > =0",
     .check = check_reshape,
     .plain = copy_kernel,
     .is_view = true},
    {.op = Op::kReverse, .types = "bool/i8/i16/i32 > =0", .check = check_reverse, .plain = reverse_kernel},
    {.op = Op::kSlice, .types = "bool/i8/i16/i32 shape shape > =0", .check = check_slice, .plain = slice_kernel},
    {.op = Op::kTile, .types = "bool/i8/i16/i32 shape > =0", .check = check_tile, .plain = tile_kernel},
    {.op = Op::kTranspose, .types = "bool/i8/i16/i32 > =0", .check = check_transpose, .plain = transpose_kernel},
};

}  // namespace

std::span<const Rule> movement_rules() { return kMovementRules; }

}  // namespace isthmus::tosa
