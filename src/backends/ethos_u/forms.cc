// The table of forms, and what every form asks of its values.
#include "backends/ethos_u/forms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>

#include "backends/ethos_u/form_families.h"
#include "backends/ethos_u/limits.h"
#include "ops/known.h"
#include "ops/table.h"

namespace isthmus::ethos_u {
namespace {

constexpr std::size_t kMostAxes = 6;  // level 8K

std::array<const FormRow*, kOpCount> rows_by_op() {
  std::array<const FormRow*, kOpCount> rows{};
  for (const auto family :
       {product_forms(), pool_forms(), elementwise_forms(), reduction_forms(), movement_forms(), choice_forms()}) {
    for (const FormRow& row : family) rows[static_cast<std::size_t>(row.op)] = &row;
  }
  return rows;
}

tosa::Type type_of(DType dtype, DType storage) {
  switch (dtype) {
    case DType::kF32:
      return type_of(storage, storage);
    case DType::kI8:
      return tosa::Type::kI8;
    case DType::kI16:
      return tosa::Type::kI16;
    case DType::kI32:
      return tosa::Type::kI32;
    case DType::kBool:
      return tosa::Type::kBool;
    default:
      return tosa::Type::kUnknown;
  }
}

}  // namespace

const FormRow* find_form(Op op) {
  static const auto kRows = rows_by_op();
  return kRows[static_cast<std::size_t>(op)];
}

Forms forms(const Graph& graph, const Node& node, DType storage, Device device) {
  if (const auto* foreign = std::get_if<ForeignAttrs>(&node.attrs)) {
    return refused(ReasonCode::kForeignOp, foreign->target);
  }
  const FormRow* row = find_form(node.op);
  if (row == nullptr) return refused(ReasonCode::kNoForm, std::string(name_of(node.op)));
  const FormContext context{graph, node, storage, device};
  const auto refusal = [&](ValueId id, Role role) -> std::optional<Reason> {
    if (auto reason = shape_refusal(graph, id)) return reason;
    // Weights and biases are packed by whoever lowers them.
    if (role == Role::kWeight || role == Role::kBias || context.type(id) != tosa::Type::kUnknown) return std::nullopt;
    return Reason{ReasonCode::kCodeType, fmt::format("%{} is {}", graph[id].name, type_text(graph, graph.type(id)))};
  };
  if (auto reason = refusal(node.outputs[0], Role::kData)) return tl::unexpected<Reason>(*std::move(reason));
  const std::vector<Role>& roles = def(node.op).roles;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Role role = roles[std::min(i, roles.size() - 1)];
    if (auto reason = refusal(node.inputs[i], role)) return tl::unexpected<Reason>(*std::move(reason));
  }
  return row->forms(context);
}

std::optional<Reason> shape_refusal(const Graph& graph, ValueId id) {
  const TensorType& type = graph.type(id);
  const auto named = [&] { return fmt::format("%{} is {}", graph[id].name, type_text(graph, type)); };
  if (type.rank() > kMostAxes) return Reason{ReasonCode::kRank, named()};
  for (const Dim dim : type.shape) {
    if (!dim.is_fixed()) return Reason{ReasonCode::kDynamicShape, named()};
    if (dim.value() <= 0) return Reason{ReasonCode::kEmpty, named()};
    if (dim.value() > std::numeric_limits<std::int32_t>::max()) return Reason{ReasonCode::kDimRange, named()};
  }
  return std::nullopt;
}

tosa::Type FormContext::type(ValueId id) const { return type_of(graph.type(id).dtype, storage); }
Ints FormContext::shape(ValueId id) const { return *fixed_sizes(graph.type(id).shape); }

std::string numbers_text(const Ints& numbers) { return fmt::format("[{}]", fmt::join(numbers, ",")); }

tosa::Type sum_type(tosa::Type of) { return of == tosa::Type::kI16 ? tosa::Type::kI48 : tosa::Type::kI32; }

Ints with_rank(const Ints& shape, std::size_t rank) {
  Ints result(rank - shape.size(), 1);
  result.insert(result.end(), shape.begin(), shape.end());
  return result;
}

Ints channels_last(const Ints& shape) { return {shape[0], shape[2], shape[3], shape[1]}; }

Fitted fitted(const Ints& image, const Ints& output, const Ints& kernel, const Ints& stride, const Ints& padding,
              const Ints& dilation) {
  Fitted result{padding, image};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t reach = (kernel[i] - 1) * dilation[i] + 1;
    const std::int64_t end = (output[i + 1] - 1) * stride[i] + reach - padding[2 * i];
    result.pad[2 * i + 1] = std::max<std::int64_t>(end - image[i + 1], 0);
    result.image[i + 1] = std::min(end, image[i + 1]);
  }
  return result;
}

Chain& Chain::with(tosa::Op op, Chain other, TosaTensor output) {
  forms_.insert(forms_.end(), other.forms_.begin(), other.forms_.end());
  return then({op, {current_, other.current_}, std::move(output)});
}

Chain& Chain::reduce(tosa::Op op, std::int64_t axis) {
  TosaTensor output = current_;
  output.shape[static_cast<std::size_t>(axis)] = 1;
  TosaForm form{op, {current_}, std::move(output)};
  form.axis = axis;
  return then(std::move(form));
}

// In parts of the longest axis where the whole is too large.
Chain& Chain::transpose(Ints perms, Device device) {
  if (std::ranges::is_sorted(perms)) return *this;
  TosaTensor whole = current_;
  for (std::size_t i = 0; i < perms.size(); ++i) {
    whole.shape[i] = current_.shape[static_cast<std::size_t>(perms[i])];
  }
  const auto form_of = [&](const TosaTensor& from, const TosaTensor& to) {
    TosaForm form{tosa::Op::kTranspose, {from}, to};
    form.perms = perms;
    return form;
  };
  // The largest product of all axes but two leaves out the two smallest.
  Ints sizes = current_.shape;
  std::ranges::sort(sizes, std::greater<>());
  const auto product_of = [](const Ints& sorted) {
    return std::accumulate(sorted.begin(), sorted.end() - std::min<std::ptrdiff_t>(2, std::ssize(sorted)),
                           std::int64_t{1}, std::multiplies<>());
  };
  if (device != Device::kU55 || product_of(sizes) <= kMostCount) return then(form_of(current_, whole));
  const auto longest = std::ranges::max_element(current_.shape) - current_.shape.begin();
  const std::int64_t rest = product_of(sizes) / sizes[0];
  const std::int64_t most = std::max<std::int64_t>(kMostCount / std::max<std::int64_t>(rest, 1), 1);
  const std::int64_t length = sizes[0];
  const TosaTensor source = current_;
  const auto behind = std::ranges::find(perms, longest) - perms.begin();
  std::vector<TosaTensor> parts;
  for (std::int64_t first = 0; first < length; first += most) {
    TosaTensor from = source;
    from.shape[static_cast<std::size_t>(longest)] = std::min(most, length - first);
    TosaTensor to = whole;
    to.shape[static_cast<std::size_t>(behind)] = std::min(most, length - first);
    forms_.push_back({tosa::Op::kSlice, {source}, from});
    forms_.push_back(form_of(from, to));
    parts.push_back(std::move(to));
  }
  TosaForm join{tosa::Op::kConcat, std::move(parts), whole};
  join.axis = behind;
  return then(std::move(join));
}

}  // namespace isthmus::ethos_u
