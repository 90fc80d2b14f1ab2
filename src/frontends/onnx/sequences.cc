// Sequences of tensors: lists that exist only while the model is loaded.
#include <fmt/format.h>

#include <algorithm>

#include "frontends/onnx/loader.h"

namespace isthmus::onnx {
namespace {

constexpr std::size_t kMaxItems = 4096;

TensorView boolean(bool value) {
  return {DType::kBool, {}, {}, 0, Blob::owning({static_cast<std::byte>(value ? 1 : 0)})};
}
TensorView count_of(std::size_t value) {
  std::vector<std::byte> bytes(sizeof(std::int64_t));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
  return {DType::kI64, {}, {}, 0, Blob::owning(std::move(bytes))};
}

Expected<SequenceEntity> list_of(Entity entity) {
  if (auto* list = std::get_if<SequenceEntity>(&entity.value)) return std::move(*list);
  return bad_input("an input is not a sequence");
}

}  // namespace

Expected<Loader::Entities> Loader::sequence(OnnxStructure kind, const Visit& visit) {
  const auto position = [&](std::size_t i, std::size_t size, std::int64_t otherwise) -> Expected<std::size_t> {
    const Entity given = TRY(input(visit, i));
    std::int64_t at = otherwise;
    if (!std::holds_alternative<NoEntity>(given.value)) {
      const auto known = known_integer(given);
      if (!known) return fail(ErrorKind::kUnsupported, "a position in a sequence is known only at run time");
      at = *known;
    }
    if (at < 0) at += static_cast<std::int64_t>(size);
    if (at < 0 || at > static_cast<std::int64_t>(size)) {
      return bad_input(fmt::format("position {} of a sequence of {}", at, size));
    }
    return static_cast<std::size_t>(at);
  };
  const auto name = [&] { return visit.node.outputs.empty() ? std::string("value") : visit.node.outputs[0]; };
  switch (kind) {
    case OnnxStructure::kSequenceConstruct: {
      SequenceEntity list;
      for (std::size_t i = 0; i < visit.node.inputs.size(); ++i) list.push_back(TRY(input(visit, i)));
      return Entities{Entity{std::move(list)}};
    }
    case OnnxStructure::kSequenceEmpty:
      return Entities{Entity{SequenceEntity{}}};
    case OnnxStructure::kSequenceAt: {
      const SequenceEntity list = TRY(list_of(TRY(input(visit, 0))));
      const std::size_t at = TRY(position(1, list.size(), 0));
      if (at >= list.size()) return bad_input(fmt::format("position {} of a sequence of {}", at, list.size()));
      return Entities{list[at]};
    }
    case OnnxStructure::kSequenceInsert: {
      SequenceEntity list = TRY(list_of(TRY(input(visit, 0))));
      if (list.size() >= kMaxItems) return fail(ErrorKind::kUnsupported, "the sequence has too many tensors");
      const std::size_t at = TRY(position(2, list.size(), static_cast<std::int64_t>(list.size())));
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), TRY(input(visit, 1)));
      return Entities{Entity{std::move(list)}};
    }
    case OnnxStructure::kSequenceErase: {
      SequenceEntity list = TRY(list_of(TRY(input(visit, 0))));
      if (list.empty()) return bad_input("an empty sequence has nothing to erase");
      const std::size_t at = TRY(position(1, list.size(), static_cast<std::int64_t>(list.size()) - 1));
      if (at >= list.size()) return bad_input(fmt::format("position {} of a sequence of {}", at, list.size()));
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
      return Entities{Entity{std::move(list)}};
    }
    case OnnxStructure::kSequenceLength:
      return Entities{Entity{constant(count_of(TRY(list_of(TRY(input(visit, 0)))).size()), name(), {})}};
    case OnnxStructure::kConcatFromSequence: {
      const SequenceEntity list = TRY(list_of(TRY(input(visit, 0))));
      const bool is_new = visit.integer("new_axis", 0) != 0;
      const ArgValue axis{Dim(visit.integer("axis", 0))};
      return Entities{TRY(made_call(visit, is_new ? kOnnxStack : kOnnxJoin, {{"axis", axis}}, list, "inputs..."))};
    }
    case OnnxStructure::kOptional:
    case OnnxStructure::kOptionalGetElement:
      return Entities{TRY(input(visit, 0))};
    case OnnxStructure::kOptionalHasElement: {
      const bool has = !std::holds_alternative<NoEntity>(TRY(input(visit, 0)).value);
      return Entities{Entity{constant(boolean(has), name(), {})}};
    }
    default:
      return fail(ErrorKind::kUnsupported, "a structure of this kind");
  }
}

// The body once for each item; what is not a sequence is the same every time.
Expected<Loader::Entities> Loader::sequence_map(const Visit& visit) {
  const GraphRef body = visit.graph("body");
  if (body == nullptr) return bad_input("the body is missing");
  Entities inputs;
  for (std::size_t i = 0; i < visit.node.inputs.size(); ++i) inputs.push_back(TRY(input(visit, i)));
  const std::size_t count = inputs.empty() ? 0 : TRY(list_of(inputs[0])).size();
  std::vector<SequenceEntity> results(body->outputs.size());
  for (std::size_t item = 0; item < count; ++item) {
    Entities given;
    for (const Entity& entity : inputs) {
      const auto* list = std::get_if<SequenceEntity>(&entity.value);
      if (list != nullptr && item >= list->size()) return bad_input("sequences of different lengths");
      given.push_back(list == nullptr ? entity : (*list)[item]);
    }
    const Entities made = TRY(inlined(*body, given));
    for (std::size_t i = 0; i < results.size(); ++i) results[i].push_back(made[i]);
  }
  Entities entities;
  for (SequenceEntity& list : results) entities.push_back(Entity{std::move(list)});
  return entities;
}

Expected<Loader::Entities> Loader::split_to_sequence(const Visit& visit) {
  const TensorEntity whole = TRY(tensor(visit, 0));
  const Shape shape = inner_.type(whole.inner).shape;
  std::int64_t axis = visit.integer("axis", 0);
  if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
  if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size())) return bad_input(fmt::format("axis {}", axis));
  const Dim size = shape[static_cast<std::size_t>(axis)];
  if (!size.is_fixed()) return fail(ErrorKind::kUnsupported, "a split of an axis that needs a fixed size");
  const Entity given = TRY(input(visit, 1));
  const bool has_sizes = !std::holds_alternative<NoEntity>(given.value);
  std::vector<std::int64_t> parts;
  bool keepdims = true;
  if (!has_sizes) {
    parts.assign(static_cast<std::size_t>(std::min<std::int64_t>(size.value(), kMaxItems + 1)), 1);
    keepdims = visit.integer("keepdims", 1) != 0;
  } else {
    const auto known = known_list(given);
    if (!known) return fail(ErrorKind::kUnsupported, "the sizes of a split are known only at run time");
    const bool is_scalar = inner_.type(std::get<TensorEntity>(given.value).inner).rank() == 0;
    parts = *known;
    if (is_scalar) {
      const std::int64_t each = known->front();
      if (each < 1) return bad_input(fmt::format("parts of size {}", each));
      parts.clear();
      for (std::int64_t at = 0; at < size.value() && parts.size() <= kMaxItems; at += each) {
        parts.push_back(std::min(each, size.value() - at));
      }
    }
  }
  if (parts.size() > kMaxItems) return fail(ErrorKind::kUnsupported, "the sequence has too many tensors");
  SequenceEntity list;
  std::int64_t at = 0;
  for (const std::int64_t part : parts) {
    if (part < 0 || part > size.value() - at) return bad_input("parts that do not make up the axis");
    list.push_back(TRY(selected(visit, Entity{whole}, axis, at, part, keepdims)));
    at += part;
  }
  return Entities{Entity{std::move(list)}};
}

}  // namespace isthmus::onnx
