// Reference kernels of movement, padding and joins: elements of any type are copied as bytes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "interpret/kernel.h"

namespace isthmus {
namespace {

using Sizes = std::vector<std::int64_t>;

template <std::size_t bytes>
struct Element {
  std::byte data[bytes];
};

// Calls `use` with a value of a type as large as an element.
template <class Use>
auto with_element(DType dtype, Use use) {
  switch (size_of(dtype)) {
    case 1:
      return use(Element<1>{});
    case 2:
      return use(Element<2>{});
    case 4:
      return use(Element<4>{});
    case 8:
      return use(Element<8>{});
    default:
      CHECK(size_of(dtype) == 16, "an element of unknown size");
      return use(Element<16>{});
  }
}

// How one axis of the result runs through the input, in elements.
struct Walk {
  std::int64_t size;
  std::int64_t stride;
};

// Axes that run on in one another are one; an axis of one element is none.
std::vector<Walk> merged(const Sizes& sizes, const Sizes& strides) {
  std::vector<Walk> walks;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1) continue;
    if (!walks.empty() && walks.back().stride == strides[i] * sizes[i]) {
      walks.back() = {walks.back().size * sizes[i], strides[i]};
    } else {
      walks.push_back({sizes[i], strides[i]});
    }
  }
  return walks;
}

// The result's elements in row-major order, read from the input at `offset` plus indices times strides.
Tensor strided(const KernelContext& context, const Tensor& input, const Sizes& strides, std::int64_t offset) {
  Tensor result = context.result();
  if (result.count() == 0) return result;
  std::vector<Walk> walks = merged(context.sizes, strides);
  if (walks.empty()) walks.push_back({1, 1});
  const Walk inner = walks.back();
  walks.pop_back();
  with_element(context.dtype, [&]<class E>(E) {
    const E* from = reinterpret_cast<const E*>(input.bytes().data()) + offset;
    E* to = reinterpret_cast<E*>(result.mutable_bytes().data());
    const E* const end = to + result.count();
    Sizes index(walks.size(), 0);
    while (to != end) {
      if (inner.stride == 1) {
        std::memcpy(to, from, static_cast<std::size_t>(inner.size) * sizeof(E));
        to += inner.size;
      } else {
        for (std::int64_t i = 0; i < inner.size; ++i) *to++ = from[i * inner.stride];
      }
      for (std::size_t axis = walks.size(); axis-- > 0;) {
        from += walks[axis].stride;
        if (++index[axis] < walks[axis].size) break;
        from -= walks[axis].stride * walks[axis].size;
        index[axis] = 0;
      }
    }
  });
  return result;
}

Expected<Tensor> reshape(const KernelContext& context) {
  std::int64_t count = 1;
  for (const std::int64_t size : context.sizes) count *= size;
  const Tensor& input = context.inputs[0];
  if (count != input.count()) {
    return bad_input(
        fmt::format("{} elements do not have the shape [{}]", input.count(), fmt::join(context.sizes, ",")));
  }
  return input.with_sizes(context.sizes);
}

Expected<Tensor> permute(const KernelContext& context) {
  const Sizes from = row_major_strides(context.inputs[0].sizes());
  Sizes strides;
  for (const std::int64_t axis : context.as<AxesAttrs>().axes) strides.push_back(from[static_cast<std::size_t>(axis)]);
  return strided(context, context.inputs[0], strides, 0);
}

// Strides that stay in place along the axes to which a tensor broadcasts; nothing where it does not.
Expected<Sizes> broadcast_strides(const Tensor& input, const Sizes& sizes) {
  const std::size_t lead = sizes.size() - input.sizes().size();
  const Sizes from = row_major_strides(input.sizes());
  Sizes strides(lead, 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (input.sizes()[i] != sizes[lead + i] && input.sizes()[i] != 1) {
      return bad_input(fmt::format("size {} does not broadcast to {}", input.sizes()[i], sizes[lead + i]));
    }
    strides.push_back(input.sizes()[i] == 1 ? 0 : from[i]);
  }
  return strides;
}

Expected<Tensor> expand(const KernelContext& context) {
  return strided(context, context.inputs[0], TRY(broadcast_strides(context.inputs[0], context.sizes)), 0);
}

Expected<Tensor> slice(const KernelContext& context) {
  const SliceAttrs& attrs = context.as<SliceAttrs>();
  const Tensor& input = context.inputs[0];
  const std::int64_t start = attrs.start.value();
  const std::int64_t end = attrs.end.value();
  const auto axis = static_cast<std::size_t>(attrs.axis);
  if (start < 0 || start > end || end > input.sizes()[axis]) {
    return bad_input(fmt::format("elements {} to {} are out of range for size {}", start, end, input.sizes()[axis]));
  }
  if ((end - start) / attrs.step + ((end - start) % attrs.step != 0 ? 1 : 0) != context.sizes[axis]) {
    return bad_input(fmt::format("a slice has {} elements, expected {}", end - start, context.sizes[axis]));
  }
  Sizes strides = row_major_strides(input.sizes());
  const std::int64_t offset = start * strides[axis];
  // With a single element the step is of no use, and may be anything.
  if (context.sizes[axis] > 1) strides[axis] *= attrs.step;
  return strided(context, input, strides, offset);
}

Expected<Tensor> flip(const KernelContext& context) {
  const Tensor& input = context.inputs[0];
  Sizes strides = row_major_strides(input.sizes());
  std::int64_t offset = 0;
  for (const std::int64_t axis : context.as<AxesAttrs>().axes) {
    std::int64_t& stride = strides[static_cast<std::size_t>(axis)];
    offset += (input.size(axis) - 1) * stride;
    stride = -stride;
  }
  return strided(context, input, strides, offset);
}

template <class Number>
void store(Number number, std::byte* to) {
  std::memcpy(to, &number, sizeof(Number));
}

Expected<void> encode(double value, DType dtype, std::byte* to) {
  if (value == 0 && !std::signbit(value)) return {};  // all bits are 0 already
  switch (dtype) {
    case DType::kBool:
      store<std::uint8_t>(value != 0 ? 1 : 0, to);
      return {};
    case DType::kF16:
      store(half_from_float(static_cast<float>(value)), to);
      return {};
    case DType::kBF16:
      store(bfloat_from_float(static_cast<float>(value)), to);
      return {};
    default:
      break;
  }
  if (is_complex(dtype) || (is_floating(dtype) && size_of(dtype) < 4)) {
    return fail(ErrorKind::kUnsupported, fmt::format("padding of {} with {}", name_of(dtype), value));
  }
  dispatch(dtype, [&]<class Number>(Number) {
    if constexpr (std::is_integral_v<Number>) {
      // As PyTorch does it: to 64 bits first, which then wrap.
      store(static_cast<Number>(static_cast<std::int64_t>(value)), to);
    } else {
      store(static_cast<Number>(value), to);
    }
  });
  return {};
}

// For each position along a padded axis the position in the input, or -1 where the filler stands.
Expected<Sizes> sources(std::int64_t size, std::int64_t before, std::int64_t after, PadMode mode) {
  Sizes result;
  if ((mode == PadMode::kReflect && std::max(before, after) >= size && before + after > 0) ||
      (mode == PadMode::kReplicate && size == 0 && before + after > 0)) {
    return bad_input(fmt::format("an axis of size {} is too short to pad {} and {} elements", size, before, after));
  }
  for (std::int64_t i = -before; i < size + after; ++i) {
    std::int64_t source = i;
    if (i < 0 || i >= size) {
      switch (mode) {
        case PadMode::kConstant:
          source = -1;
          break;
        case PadMode::kReflect:
          source = i < 0 ? -i : 2 * (size - 1) - i;
          break;
        case PadMode::kReplicate:
          source = i < 0 ? 0 : size - 1;
          break;
      }
    }
    result.push_back(source);
  }
  return result;
}

Expected<Tensor> pad(const KernelContext& context) {
  const PadAttrs& attrs = context.as<PadAttrs>();
  const Tensor& input = context.inputs[0];
  std::vector<Sizes> maps;
  for (std::size_t axis = 0; axis < input.sizes().size(); ++axis) {
    maps.push_back(TRY(sources(input.sizes()[axis], attrs.before[axis], attrs.after[axis], attrs.mode)));
  }
  Element<16> filler{};
  TRY(encode(attrs.value, context.dtype, filler.data));
  Tensor result = context.result();
  if (result.count() == 0) return result;
  if (maps.empty()) return input;
  const Sizes strides = row_major_strides(input.sizes());
  with_element(context.dtype, [&]<class E>(E) {
    E fill;
    std::memcpy(&fill, filler.data, sizeof(E));
    const E* const from = reinterpret_cast<const E*>(input.bytes().data());
    E* to = reinterpret_cast<E*>(result.mutable_bytes().data());
    const E* const end = to + result.count();
    Sizes index(maps.size() - 1, 0);
    while (to != end) {
      std::int64_t offset = 0;
      bool is_filler = false;
      for (std::size_t axis = 0; axis + 1 < maps.size(); ++axis) {
        const std::int64_t source = maps[axis][static_cast<std::size_t>(index[axis])];
        is_filler = is_filler || source < 0;
        offset += source * strides[axis];
      }
      for (const std::int64_t source : maps.back()) *to++ = is_filler || source < 0 ? fill : from[offset + source];
      for (std::size_t axis = index.size(); axis-- > 0;) {
        if (++index[axis] < static_cast<std::int64_t>(maps[axis].size())) break;
        index[axis] = 0;
      }
    }
  });
  return result;
}

Expected<Tensor> cat(const KernelContext& context) {
  const auto axis = static_cast<std::size_t>(context.as<AxisAttrs>().axis);
  Tensor result = context.result();
  std::size_t outer = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(context.sizes[i]);
  std::int64_t total = 0;
  for (const Tensor& input : context.inputs) {
    Sizes sizes = input.sizes();
    total += sizes[axis];
    sizes[axis] = context.sizes[axis];
    if (sizes != context.sizes) return bad_input("the tensors to concatenate differ in another axis");
  }
  if (total != context.sizes[axis]) return bad_input("the tensors to concatenate do not add up to the result");
  if (result.count() == 0) return result;
  const std::size_t row = result.bytes().size() / outer;
  std::size_t start = 0;
  for (const Tensor& input : context.inputs) {
    const std::size_t part = input.bytes().size() / outer;
    for (std::size_t i = 0; i < outer && part > 0; ++i) {
      std::memcpy(result.mutable_bytes().data() + i * row + start, input.bytes().data() + i * part, part);
    }
    start += part;
  }
  return result;
}

Expected<Tensor> where(const KernelContext& context) {
  Tensor operands[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const Tensor& input = context.inputs[i];
    const KernelContext whole{context.inputs, context.attrs, input.dtype(), context.sizes};
    operands[i] =
        input.sizes() == context.sizes ? input : strided(whole, input, TRY(broadcast_strides(input, context.sizes)), 0);
  }
  Tensor result = context.result();
  const auto condition = operands[0].data<std::uint8_t>();
  with_element(context.dtype, [&]<class E>(E) {
    const E* yes = reinterpret_cast<const E*>(operands[1].bytes().data());
    const E* no = reinterpret_cast<const E*>(operands[2].bytes().data());
    E* to = reinterpret_cast<E*>(result.mutable_bytes().data());
    for (std::size_t i = 0; i < condition.size(); ++i) to[i] = condition[i] != 0 ? yes[i] : no[i];
  });
  return result;
}

// The predicate has one element, of whatever rank.
Expected<Tensor> branch(const KernelContext& context) {
  return context.inputs[context.inputs[0].data<std::uint8_t>()[0] != 0 ? 1 : 2];
}

}  // namespace

std::span<const KernelDef> movement_kernels() {
  static constexpr KernelDef kKernels[] = {
      {Op::kReshape, reshape, HalfPrecision::kAsBytes}, {Op::kPermute, permute, HalfPrecision::kAsBytes},
      {Op::kExpand, expand, HalfPrecision::kAsBytes},   {Op::kSlice, slice, HalfPrecision::kAsBytes},
      {Op::kFlip, flip, HalfPrecision::kAsBytes},       {Op::kPad, pad, HalfPrecision::kAsBytes},
      {Op::kCat, cat, HalfPrecision::kAsBytes},         {Op::kWhere, where, HalfPrecision::kAsBytes},
      {Op::kBranch, branch, HalfPrecision::kAsBytes},
  };
  return kKernels;
}

}  // namespace isthmus
