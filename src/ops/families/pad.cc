// Padding: its op, and the names and modes that come down to it or to slices and cat.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/call.h"
#include "ops/demands.h"
#include "ops/families.h"
#include "ops/known.h"

namespace isthmus {
namespace {

Expected<TensorType> infer_pad(const InferContext& context) {
  TensorType result = context.inputs[0];
  const PadAttrs& pad = context.as<PadAttrs>();
  TRY(demand_list(pad.before, result.rank(), 0, "padding before"));
  TRY(demand_list(pad.after, result.rank(), 0, "padding after"));
  Exprs& exprs = context.exprs;
  for (std::size_t axis = 0; axis < result.rank(); ++axis) {
    Dim& size = result.shape[axis];
    const std::int64_t max = std::max(pad.before[axis], pad.after[axis]);
    const bool is_mirrored = pad.mode == PadMode::kReflect && max > 0 && !surely_exceeds(exprs, size, max);
    const bool is_empty = pad.mode == PadMode::kReplicate && max > 0 && !surely_exceeds(exprs, size, 0);
    // Of a symbolic size the kernel finds out.
    if ((is_mirrored || is_empty) && size.is_fixed()) {
      return bad_input(fmt::format("an axis of size {} is too short to pad {} elements", size.value(), max));
    }
    size = exprs.add(size, pad.before[axis] + pad.after[axis]);
  }
  TRY(demand_countable(result));
  // The value goes through a float of 64 bits, and has to be a number of the element type.
  if (pad.mode == PadMode::kConstant && pad.value != 0) {
    TRY(demand_numbers(result));
    constexpr double kExact = 9007199254740992.0;
    const bool is_whole = std::abs(pad.value) <= kExact && std::floor(pad.value) == pad.value;
    if (is_integer(result.dtype) && !is_whole) {
      return fail(ErrorKind::kUnsupported, fmt::format("integers cannot be padded with {}", pad.value));
    }
  }
  return result;
}

// One axis to be padded; negative numbers cut.
struct Sides {
  std::int64_t axis;
  Dim before;
  Dim after;
};

// The sides of each axis that is padded at all. The list names the last axis first.
Expected<std::vector<Sides>> sides_of(Call& call, ValueId self, std::string_view name) {
  const Dims list = TRY(call.dims(name));
  const std::int64_t rank = call.rank(self);
  if (list.size() % 2 != 0 || static_cast<std::int64_t>(list.size()) > 2 * rank) {
    return bad_input(fmt::format("{} padding values for rank {}", list.size(), rank));
  }
  // Beyond this, sums with a size could not be told from symbolic ones.
  constexpr std::int64_t kMaxPadding = std::int64_t{1} << 30;
  for (const Dim number : list) {
    if (number.is_fixed() && (number.value() > kMaxPadding || number.value() < -kMaxPadding)) {
      return bad_input(fmt::format("padding {} is out of range", number.value()));
    }
  }
  std::vector<Sides> result;
  for (std::size_t i = 0; i < list.size(); i += 2) {
    if (list[i].is(0) && list[i + 1].is(0)) continue;
    result.push_back({rank - 1 - static_cast<std::int64_t>(i / 2), list[i], list[i + 1]});
  }
  std::ranges::reverse(result);
  return result;
}

bool is_cut(Dim side) { return side.is_fixed() && side.value() < 0; }
std::int64_t added(Dim side) { return side.is_fixed() ? std::max<std::int64_t>(side.value(), 0) : 0; }

Expected<ValueId> crop(Call& call, ValueId value, const std::vector<Sides>& sides) {
  for (const Sides& side : sides) {
    const Dim size = call.size(value, side.axis);
    const Dim start = is_cut(side.before) ? call.exprs().multiply(side.before, -1) : Dim(0);
    const Dim end = is_cut(side.after) ? call.exprs().add(size, side.after) : size;
    value = TRY(call.slice(value, side.axis, start, end));
  }
  return value;
}

Expected<ValueId> pad(Call& call, ValueId value, const std::vector<Sides>& sides, PadMode mode, double number) {
  PadAttrs attrs{mode, Ints(static_cast<std::size_t>(call.rank(value)), 0), {}, number};
  attrs.after = attrs.before;
  for (const Sides& side : sides) {
    attrs.before[static_cast<std::size_t>(side.axis)] = added(side.before);
    attrs.after[static_cast<std::size_t>(side.axis)] = added(side.after);
  }
  const auto is_zero = [](std::int64_t number_of) { return number_of == 0; };
  if (std::ranges::all_of(attrs.before, is_zero) && std::ranges::all_of(attrs.after, is_zero)) return value;
  return call.emit(Op::kPad, std::move(attrs), {value});
}

// Sides of symbolic size cannot be attributes: they are joined on.
Expected<ValueId> join_symbolic(Call& call, ValueId value, const std::vector<Sides>& sides, double number) {
  for (const Sides& side : sides) {
    if (side.before.is_fixed() && side.after.is_fixed()) continue;
    const auto filler = [&](Dim size) -> Expected<ValueId> {
      Shape shape = call.shape(value);
      shape[static_cast<std::size_t>(side.axis)] = size;
      return call.expand(call.scalar(number, call.type(value).dtype), std::move(shape));
    };
    std::vector<ValueId> parts;
    for (const Dim size : {side.before, side.after}) {
      if (!size.is_fixed() && call.exprs().bounds(size).min.value_or(-1) < 0) {
        return Call::unsupported("padding that may be negative needs a static size");
      }
    }
    if (!side.before.is_fixed()) parts.push_back(TRY(filler(side.before)));
    parts.push_back(value);
    if (!side.after.is_fixed()) parts.push_back(TRY(filler(side.after)));
    value = TRY(call.cat(std::move(parts), side.axis));
  }
  return value;
}

Expected<ValueId> pad_constant(Call& call, ValueId self, const std::vector<Sides>& sides, double number) {
  const ValueId cropped = TRY(crop(call, self, sides));
  return join_symbolic(call, TRY(pad(call, cropped, sides, PadMode::kConstant, number)), sides, number);
}

Expected<void> demand_fixed(const std::vector<Sides>& sides) {
  for (const Sides& side : sides) {
    if (!side.before.is_fixed() || !side.after.is_fixed()) {
      return Call::unsupported("reflect, replicate and circular padding need static sizes");
    }
  }
  return {};
}

// What is cut away may still be mirrored to the other side, so the cut comes last.
Expected<ValueId> pad_from_inside(Call& call, ValueId self, const std::vector<Sides>& sides, PadMode mode) {
  TRY(demand_fixed(sides));
  return crop(call, TRY(pad(call, self, sides, mode, 0)), sides);
}

Expected<ValueId> pad_circular(Call& call, ValueId self, const std::vector<Sides>& sides) {
  TRY(demand_fixed(sides));
  ValueId value = TRY(crop(call, self, sides));
  for (const Sides& side : sides) {
    const Dim size = call.size(value, side.axis);
    const Dim before = added(side.before);
    const Dim after = added(side.after);
    if (surely_exceeds(call.exprs(), before, size) || surely_exceeds(call.exprs(), after, size)) {
      return bad_input(fmt::format("circular padding is larger than the axis of size {}", call.exprs().text(size)));
    }
    std::vector<ValueId> parts;
    if (!before.is(0)) {
      parts.push_back(TRY(call.slice(value, side.axis, call.exprs().subtract(size, before), size)));
    }
    parts.push_back(value);
    if (!after.is(0)) parts.push_back(TRY(call.slice(value, side.axis, 0, after)));
    value = TRY(call.cat(std::move(parts), side.axis));
  }
  return value;
}

Expected<std::vector<ValueId>> read_pad(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const std::string mode = TRY(call.text("mode", "constant"));
  const auto sides = TRY(sides_of(call, self, "pad"));
  if (mode == "constant") return one(pad_constant(call, self, sides, TRY(call.number("value", 0))));
  if (mode == "reflect") return one(pad_from_inside(call, self, sides, PadMode::kReflect));
  if (mode == "replicate") return one(pad_from_inside(call, self, sides, PadMode::kReplicate));
  if (mode == "circular") return one(pad_circular(call, self, sides));
  return bad_input(fmt::format("unknown padding mode \"{}\"", mode));
}

Expected<std::vector<ValueId>> read_constant_pad(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  return one(pad_constant(call, self, TRY(sides_of(call, self, "pad")), TRY(call.number("value", 0))));
}

template <PadMode mode>
Expected<std::vector<ValueId>> read_pad_from_inside(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  return one(pad_from_inside(call, self, TRY(sides_of(call, self, "padding")), mode));
}

Expected<std::vector<ValueId>> read_pad_circular(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  return one(pad_circular(call, self, TRY(sides_of(call, self, "pad"))));
}

}  // namespace

Family pad_family() {
  static const OpDef kOps[] = {
      {.op = Op::kPad,
       .flow = QFlow::kMovesData,
       .roles = {Role::kData},
       .infer = infer_pad,
       .spellings =
           {
               {"aten.pad", read_pad},
               {"aten.constant_pad_nd", read_constant_pad},
               {"aten.reflection_pad1d", read_pad_from_inside<PadMode::kReflect>},
               {"aten.reflection_pad2d", read_pad_from_inside<PadMode::kReflect>},
               {"aten.reflection_pad3d", read_pad_from_inside<PadMode::kReflect>},
               {"aten.replication_pad1d", read_pad_from_inside<PadMode::kReplicate>},
               {"aten.replication_pad2d", read_pad_from_inside<PadMode::kReplicate>},
               {"aten.replication_pad3d", read_pad_from_inside<PadMode::kReplicate>},
               {"aten._pad_circular", read_pad_circular},
           }},
  };
  return {"pad", kOps, {}};
}

}  // namespace isthmus
