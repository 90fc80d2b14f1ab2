// One operator as a foreign call: its arguments, the types of its results, and whether they are constants.
#include "ops/call.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/onnx_dtype.h"
#include "base/untrusted_text.h"
#include "frontends/onnx/loader.h"
#include "interpret/interpreter.h"
#include "ops/known.h"
#include "ops/known_sizes.h"
#include "ops/onnx/inputs.h"
#include "ops/table.h"

namespace isthmus::onnx {
namespace {

// Larger results are left to canonicalize: loading costs what reading the file costs.
constexpr std::uint64_t kMaxFoldedBytes = std::uint64_t{1} << 16;

bool is_small(const TensorType& type) {
  std::uint64_t bytes = size_of(type.dtype);
  for (const Dim dim : type.shape) {
    const auto product = dim.is_fixed() && dim.value() >= 0
                             ? multiply_sizes(bytes, static_cast<std::uint64_t>(dim.value()))
                             : std::nullopt;
    if (!product) return false;
    bytes = *product;
  }
  return bytes <= kMaxFoldedBytes;
}

// Between numbers and the integers that stand for them: kept as the model has it, also where all of it is constant.
bool is_conversion(const isthmus::Node& node) {
  return std::holds_alternative<QuantizeAttrs>(node.attrs) || std::holds_alternative<DequantizeAttrs>(node.attrs);
}

// "X W B", "inputs...": the next word.
std::string_view take_word(std::string_view& words) {
  const std::size_t end = std::min(words.find(' '), words.size());
  const std::string_view word = words.substr(0, end);
  words.remove_prefix(std::min(end + 1, words.size()));
  return word;
}

template <class Item>
ArgValue list_of(const std::vector<Item>& items) {
  std::vector<ArgValue> list;
  for (const Item& item : items) list.push_back(ArgValue{item});
  return ArgValue{std::move(list)};
}

}  // namespace

std::string Loader::unused_inner_name(std::string_view stem) const { return inner_.unused_name(stem); }

TensorEntity Loader::constant(TensorView data, std::string name, std::string fqn) {
  const ValueId inside = inner_.add_constant(inner_.unused_name(value_name(name)), std::move(data), std::move(fqn));
  return {inside, std::nullopt, std::move(name)};
}

// Constants come into the graph of calls when the first call reads them.
Expected<ValueId> Loader::outer(TensorEntity& tensor) {
  if (tensor.outer) return *tensor.outer;
  const auto [entry, is_new] = outer_constants_.emplace(tensor.inner.index, ValueId{});
  if (is_new) {
    const Constant* constant = inner_.constant(tensor.inner);
    CHECK(constant != nullptr && constant->data, "a value without a call is a constant");
    entry->second = outer_.add_constant(outer_.unused_name(value_name(tensor.name)), *constant->data, constant->fqn);
  }
  tensor.outer = entry->second;
  return *tensor.outer;
}

std::optional<std::vector<std::int64_t>> Loader::known_list(const Entity& entity) {
  const auto* tensor = std::get_if<TensorEntity>(&entity.value);
  if (tensor == nullptr) return std::nullopt;
  const auto sizes = known_sizes(inner_, tensor->inner);
  return sizes ? fixed_sizes(*sizes) : std::nullopt;
}

std::optional<std::int64_t> Loader::known_integer(const Entity& entity) {
  const auto list = known_list(entity);
  return list && list->size() == 1 ? std::optional(list->front()) : std::nullopt;
}

Expected<Loader::Entities> Loader::call(const Visit& visit) {
  const Node& node = visit.node;
  ForeignAttrs attrs;
  attrs.target = "onnx." + (node.domain.empty() ? std::string() : node.domain + ".") + node.op_type + "." +
                 std::to_string(opset(node.domain));
  std::string_view words = onnx_inputs(attrs.target);
  std::vector<TensorEntity> tensors;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    std::string_view word = take_word(words);
    if (word.ends_with("...")) {
      word.remove_suffix(3);
      std::vector<ArgValue> list;
      for (; i < node.inputs.size(); ++i) {
        if (unreadable_.contains(node.inputs[i])) return tl::unexpected<Error>(unreadable_.at(node.inputs[i]));
        tensors.push_back(TRY(tensor(visit, i)));
        list.push_back(ArgValue{TensorArg{}});
      }
      attrs.args.push_back({std::string(word), ArgValue{std::move(list)}});
      break;
    }
    if (node.inputs[i].empty()) continue;
    if (unreadable_.contains(node.inputs[i])) return tl::unexpected<Error>(unreadable_.at(node.inputs[i]));
    Entity given = TRY(input(visit, i));
    if (std::holds_alternative<SequenceEntity>(given.value)) {
      // The one thing that an operator for tensors does with a sequence is to pass it on.
      if (node.inputs.size() == 1 && node.outputs.size() == 1 && node.attributes.empty()) return Entities{given};
      return bad_input(fmt::format("input {} is a sequence, expected a tensor", i));
    }
    if (std::holds_alternative<NoEntity>(given.value)) continue;
    tensors.push_back(std::get<TensorEntity>(given.value));
    attrs.args.push_back({word.empty() ? "input_" + std::to_string(i) : std::string(word), ArgValue{TensorArg{}}});
  }
  for (const Attribute* attribute : visit.attributes) {
    ArgValue value;
    if (const auto* number = std::get_if<double>(&attribute->value)) {
      value.value = *number;
    } else if (const auto* integer = std::get_if<std::int64_t>(&attribute->value)) {
      value.value = Dim(*integer);
    } else if (const auto* text = std::get_if<std::string>(&attribute->value)) {
      value.value = *text;
    } else if (const auto* numbers = std::get_if<std::vector<double>>(&attribute->value)) {
      value = list_of(*numbers);
    } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&attribute->value)) {
      value = list_of(std::vector<Dim>(integers->begin(), integers->end()));
    } else if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute->value)) {
      value = list_of(*texts);
    } else if (const auto* data = std::get_if<Tensor>(&attribute->value)) {
      if (!data->data) return tl::unexpected<Error>(data->data.error());
      const std::string& name = node.outputs.empty() ? attribute->name : node.outputs[0];
      tensors.push_back(constant(*data->data, name, {}));
      value.value = TensorArg{};
    } else {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("the attribute {} is neither numbers nor text nor a tensor", shown(attribute->name)));
    }
    attrs.args.push_back({attribute->name, std::move(value)});
  }
  return read_call(visit, std::move(attrs), std::move(tensors), node.outputs);
}

Expected<Entity> Loader::made_call(const Visit& visit, std::string_view target, std::vector<Arg> attributes,
                                   const std::vector<Entity>& tensors, std::string_view inputs) {
  ForeignAttrs attrs;
  attrs.target = std::string(target) + ".1";
  std::vector<TensorEntity> given;
  for (const Entity& entity : tensors) {
    const auto* tensor = std::get_if<TensorEntity>(&entity.value);
    if (tensor == nullptr) return bad_input("a sequence of something else than tensors");
    given.push_back(*tensor);
  }
  ArgValue first;
  if (inputs.ends_with("...")) {
    first.value = std::vector<ArgValue>(given.size(), ArgValue{TensorArg{}});
    inputs.remove_suffix(3);
  } else {
    first.value = TensorArg{};
  }
  attrs.args.push_back({std::string(inputs), std::move(first)});
  attrs.args.insert(attrs.args.end(), attributes.begin(), attributes.end());
  const std::string name = visit.node.outputs.empty() ? "part" : visit.node.outputs[0];
  return TRY(read_call(visit, std::move(attrs), std::move(given), {name})).front();
}

Expected<Loader::Entities> Loader::read_call(const Visit& visit, ForeignAttrs attrs, std::vector<TensorEntity> tensors,
                                             const std::vector<std::string>& outputs) {
  const Spelling* spelling = find_spelling(attrs.target).spelling;
  if (spelling == nullptr) return keep_foreign(visit, std::move(attrs), tensors, "Isthmus does not know this operator");
  std::vector<ValueId> inputs;
  for (const TensorEntity& tensor : tensors) inputs.push_back(tensor.inner);
  const std::size_t first_node = inner_.nodes().size();
  Call reading(inner_, attrs, std::move(inputs), std::vector<TensorType>(outputs.size()));
  reading.begin(visit.origin, outputs.empty() || outputs[0].empty() ? "value" : value_name(outputs[0]));
  auto read = spelling->reader(reading);
  if (!read && read.error().kind == ErrorKind::kUnsupported) {
    return keep_foreign(visit, std::move(attrs), tensors, read.error().message);
  }
  std::vector<ValueId> values = TRY(std::move(read));
  if (values.size() < outputs.size()) {
    return keep_foreign(visit, std::move(attrs), tensors,
                        fmt::format("{} results are named and {} are known", outputs.size(), values.size()));
  }
  values.resize(outputs.size());
  TRY(fold(first_node, values));
  const bool is_constant =
      std::ranges::all_of(values, [&](ValueId value) { return inner_.constant(value) != nullptr; });
  std::vector<Result> results;
  std::vector<ValueId> outside;
  if (!is_constant) {
    for (TensorEntity& tensor : tensors) outside.push_back(TRY(outer(tensor)));
    std::vector<std::string> taken;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      std::string stem = outputs[i].empty() ? value_name(outputs[0]) + "_unused" : value_name(outputs[i]);
      std::string name = outer_.unused_name(stem);
      // Names of one call must differ from each other as well.
      for (int again = 1; std::ranges::find(taken, name) != taken.end(); ++again) {
        name = outer_.unused_name(fmt::format("{}_{}", stem, again));
      }
      taken.push_back(name);
      results.push_back({name, inner_.type(values[i])});
    }
    const NodeId id =
        outer_.add_node(Op::kForeign, std::move(attrs), std::move(outside), std::move(results), visit.origin);
    outside = outer_[id].outputs;
  }
  Entities entities;
  for (std::size_t i = 0; i < values.size(); ++i) {
    TensorEntity made{values[i], std::nullopt, outputs[i]};
    if (!is_constant && inner_.constant(values[i]) == nullptr) made.outer = outside[i];
    entities.push_back(Entity{std::move(made)});
  }
  return entities;
}

// A call that nothing here can read keeps the types that the file declares.
Expected<Loader::Entities> Loader::keep_foreign(const Visit& visit, ForeignAttrs attrs,
                                                const std::vector<TensorEntity>& tensors, const std::string& why) {
  std::vector<TensorType> types;
  for (const std::string& name : visit.node.outputs) {
    const auto found = declared_.find(name);
    if (found == declared_.end() || found->second->type.kind != Type::Kind::kTensor || !found->second->type.shape) {
      return fail(ErrorKind::kUnsupported, why);
    }
    types.push_back(TRY(input_type(*found->second)));
  }
  std::vector<ValueId> outside;
  for (TensorEntity tensor : tensors) outside.push_back(TRY(outer(tensor)));
  std::vector<Result> results;
  for (std::size_t i = 0; i < types.size(); ++i) {
    results.push_back({outer_.unused_name(value_name(visit.node.outputs[i])), types[i]});
  }
  std::vector<ValueId> inside;
  for (const TensorEntity& tensor : tensors) inside.push_back(tensor.inner);
  std::vector<Result> inner_results;
  for (std::size_t i = 0; i < types.size(); ++i) {
    inner_results.push_back({inner_.unused_name(value_name(visit.node.outputs[i])), types[i]});
  }
  const NodeId kept = inner_.add_node(Op::kForeign, attrs, std::move(inside), std::move(inner_results), visit.origin);
  const NodeId id =
      outer_.add_node(Op::kForeign, std::move(attrs), std::move(outside), std::move(results), visit.origin);
  Entities entities;
  for (std::size_t i = 0; i < types.size(); ++i) {
    entities.push_back(Entity{TensorEntity{inner_[kept].outputs[i], outer_[id].outputs[i], visit.node.outputs[i]}});
  }
  return entities;
}

// Computes what the new nodes make of constants alone.
Expected<void> Loader::fold(std::size_t first_node, std::vector<ValueId>& results) {
  std::unordered_map<std::uint32_t, ValueId> folded;
  const auto now = [&](ValueId id) {
    const auto found = folded.find(id.index);
    return found == folded.end() ? id : found->second;
  };
  for (std::size_t i = first_node; i < inner_.nodes().size(); ++i) {
    const isthmus::Node node = inner_.nodes()[i];  // a copy: constants are added below
    if (node.op == Op::kForeign || is_conversion(node) || !is_small(inner_.type(node.outputs[0]))) continue;
    std::vector<const TensorView*> constants;
    for (const ValueId input : node.inputs) {
      const Constant* constant = inner_.constant(now(input));
      if (constant == nullptr || !constant->data) break;
      constants.push_back(&*constant->data);
    }
    // Canonicalize has more to spend, in proportion to the file.
    if (constants.size() != node.inputs.size() || !folding_.take(folding_steps(inner_, node), 0)) continue;
    std::vector<isthmus::Tensor> inputs;
    for (const TensorView* constant : constants) inputs.push_back(isthmus::Tensor::from(*constant));
    const ValueId output = node.outputs[0];
    const auto result = evaluate_node(inner_, node, inputs, {});
    // What cannot be computed here (an index out of range) is left to the run, where it is an error with a place.
    if (!result) continue;
    folded.emplace(output.index, inner_.add_constant(inner_.unused_name(inner_[output].name), result->view()));
  }
  for (ValueId& result : results) result = now(result);
  return {};
}

}  // namespace isthmus::onnx
