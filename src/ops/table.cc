// Puts the families together and finds rows by op and by name.
#include "ops/table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <unordered_map>

#include "base/check.h"
#include "ops/families.h"
#include "ops/onnx/families.h"

namespace isthmus {
namespace {

struct Table {
  std::array<Family, 35> families{movement_family(),
                                  pad_family(),
                                  join_family(),
                                  index_family(),
                                  type_family(),
                                  creation_family(),
                                  quantize_family(),
                                  dynamic_family(),
                                  binary_family(),
                                  compare_family(),
                                  unary_family(),
                                  activation_family(),
                                  reduce_family(),
                                  order_family(),
                                  scan_family(),
                                  conv_family(),
                                  product_family(),
                                  pool_family(),
                                  norm_family(),
                                  attention_family(),
                                  image_family(),
                                  recurrent_family(),
                                  onnx_ops::elementwise_family(),
                                  onnx_ops::movement_family(),
                                  onnx_ops::index_family(),
                                  onnx_ops::creation_family(),
                                  onnx_ops::layer_family(),
                                  onnx_ops::pool_family(),
                                  onnx_ops::norm_family(),
                                  onnx_ops::reduce_family(),
                                  onnx_ops::structure_family(),
                                  onnx_ops::image_family(),
                                  onnx_ops::recurrent_family(),
                                  onnx_ops::quantize_family(),
                                  onnx_ops::fused_family()};
  std::array<const OpDef*, kOpCount> by_op{};
  std::unordered_map<std::string_view, const Spelling*> by_name;

  Table() {
    for (const Family& family : families) {
      for (const OpDef& row : family.ops) {
        const OpDef*& place = by_op.at(static_cast<std::size_t>(row.op));
        CHECK(place == nullptr, "op " + std::string(name_of(row.op)) + " is defined twice");
        place = &row;
        add(row.spellings);
      }
      add(family.compounds);
    }
  }

  void add(std::span<const Spelling> spellings) {
    for (const Spelling& spelling : spellings) {
      const bool is_new = by_name.emplace(spelling.name, &spelling).second;
      CHECK(is_new, "the name " + std::string(spelling.name) + " is spelled twice");
    }
  }

  const Spelling* find(std::string_view name) const {
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : found->second;
  }
};

const Table& table() {
  static const Table instance;
  return instance;
}

// "onnx.Softmax" and 17: the row of the latest opset up to that one, or else the row for every opset.
const Spelling* find_onnx(const std::string& name, std::string_view opset) {
  std::int64_t version = 0;
  std::from_chars(opset.data(), opset.data() + opset.size(), version);
  constexpr std::int64_t kMaxOpset = 64;
  for (version = std::min(version, kMaxOpset); version > 0; --version) {
    if (const Spelling* found = table().find(name + "." + std::to_string(version))) return found;
  }
  return table().find(name);
}

}  // namespace

std::string_view name_of(QFlow flow) {
  switch (flow) {
    case QFlow::kComputes:
      return "computes";
    case QFlow::kMovesData:
      return "moves data";
    case QFlow::kJoinsInputs:
      return "joins inputs";
    case QFlow::kNarrowsRange:
      return "narrows range";
    case QFlow::kFixedRange:
      return "fixed range";
    case QFlow::kPins:
      return "pins";
    case QFlow::kPinsAsItRuns:
      return "pins as it runs";
  }
  return "";
}

Role role_of(Op op, std::size_t input) {
  const std::vector<Role>& roles = def(op).roles;
  return roles.empty() ? Role::kParameter : roles[std::min(input, roles.size() - 1)];
}

std::size_t channel_axis(Op op, std::size_t rank) {
  const ChannelAxis axis = def(op).channels;
  CHECK(axis == ChannelAxis::kSecond || axis == ChannelAxis::kLast, "the op has no axis of channels");
  return axis == ChannelAxis::kLast ? rank - 1 : 1;
}

const OpDef& def(Op op) {
  const OpDef* row = table().by_op.at(static_cast<std::size_t>(op));
  CHECK(row != nullptr, "op " + std::string(name_of(op)) + " has no row in the table");
  return *row;
}

std::span<const Family> families() { return table().families; }

SpellingMatch find_spelling(std::string_view target) {
  // "aten.relu_.default": "aten.relu_" is the name and "default" the overload.
  const std::size_t dot = target.rfind('.');
  const std::string_view overload = dot == std::string_view::npos ? std::string_view() : target.substr(dot);
  std::string name(target.substr(0, dot));
  if (target.starts_with("onnx.") && !overload.empty()) return {find_onnx(name, overload.substr(1)), false};
  const auto look_up = [&](const std::string& stem) -> const Spelling* {
    if (const Spelling* exact = table().find(stem + std::string(overload))) return exact;
    return table().find(stem);
  };
  if (const Spelling* found = look_up(name)) return {found, false};
  constexpr std::string_view kCopy = "_copy";
  if (name.ends_with(kCopy)) return {look_up(name.substr(0, name.size() - kCopy.size())), false};
  if (name.ends_with('_') && !name.ends_with("__")) {
    name.pop_back();
    return {look_up(name), true};
  }
  return {};
}

}  // namespace isthmus
