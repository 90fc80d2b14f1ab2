// Finds the rule of an operator, and checks what all rules have in common.
#include "targets/tosa/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/untrusted_text.h"

namespace isthmus::tosa {
namespace {

std::vector<const Rule*> rules_by_number() {
  std::vector<const Rule*> rules(all_ops().size() + 1, nullptr);
  for (const auto& family : {conv_rules(), elementwise_rules(), image_rules(), index_rules(), movement_rules(),
                             product_rules(), reduce_rules(), scale_rules(), unary_rules()}) {
    for (const Rule& rule : family) {
      const Rule*& place = rules[static_cast<std::size_t>(rule.op)];
      CHECK(place == nullptr, "two rules for one operator");
      place = &rule;
    }
  }
  return rules;
}

// Cuts the text before the mark off its front.
std::string_view next_part(std::string_view& text, std::string_view mark) {
  const std::size_t end = text.find(mark);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + mark.size());
  return part;
}

bool is_legal(std::string_view token, Type type, std::span<const Type> before) {
  if (token.starts_with('=')) return type == before[static_cast<std::size_t>(token[1] - '0')];
  while (!token.empty()) {
    if (next_part(token, "/") == name_of(type)) return true;
  }
  return false;
}

// One alternative: "i8 =0 > i32".
bool is_legal(std::string_view alternative, std::span<const Type> inputs, Type output) {
  std::string_view rest = alternative;
  std::string_view left = next_part(rest, " > ");
  std::size_t count = 0;
  while (!left.empty()) {
    const std::string_view token = next_part(left, " ");
    if (token == "*") {
      while (count < inputs.size() && inputs[count] == inputs[0]) ++count;
    } else if (count == inputs.size() || !is_legal(token, inputs[count++], inputs)) {
      return false;
    }
  }
  return count == inputs.size() && is_legal(rest, output, inputs);
}

Expected<void> check_types(const Site& site, std::string_view types) {
  std::vector<Type> inputs;
  for (const Operand& input : site.inputs) inputs.push_back(input.type);
  std::string_view rest = types;
  while (!rest.empty()) {
    if (is_legal(next_part(rest, " | "), inputs, site.output.type)) return {};
  }
  std::vector<std::string_view> names;
  for (const Type type : inputs) names.push_back(name_of(type));
  return bad_input(
      fmt::format("types {} > {}, but legal are {}", fmt::join(names, " "), name_of(site.output.type), types));
}

Expected<void> check_level(const Operand& operand) {
  if (operand.type == Type::kShape) return {};
  if (operand.rank() > kMaxRank) {
    return bad_input(
        fmt::format("{} has {} dimensions, and level 8K allows {}", shown(operand.name), operand.rank(), kMaxRank));
  }
  if (operand.count > kMaxElements) {
    return bad_input(
        fmt::format("{} has {} elements, and level 8K allows {}", shown(operand.name), operand.count, kMaxElements));
  }
  return {};
}

}  // namespace

const Rule* find_rule(Op op) {
  static const std::vector<const Rule*> rules = rules_by_number();
  return rules[static_cast<std::size_t>(op)];
}

Expected<void> check(const Site& site) {
  for (const Operand& input : site.inputs) TRY(check_level(input));
  TRY(check_level(site.output));
  // What makes a constant has no inputs, and no rules beyond those of `verify`.
  const std::string_view inputs = inputs_of(site.op->op);
  if (inputs.empty() || inputs == "S") return {};
  const Rule* rule = find_rule(site.op->op);
  if (rule == nullptr) {
    return fail(ErrorKind::kUnsupported, "this operator is none of those in integers that Isthmus computes");
  }
  TRY(check_types(site, rule->types));
  return rule->check(site);
}

Expected<void> check(const Graph& graph) {
  const Operands operands = TRY(Operands::of(graph, ~std::uint64_t{0}));
  for (const Operator& op : graph.operators) {
    TRY(within(check(operands.site(op)), [&] { return place_of(graph, op); }));
  }
  return {};
}

std::uint64_t count_products(const Graph& graph) {
  const auto operands = Operands::of(graph, ~std::uint64_t{0});
  CHECK(operands.has_value(), "a graph that passed its check");
  std::uint64_t sum = 0;
  for (const Operator& op : graph.operators) {
    const Rule* rule = find_rule(op.op);
    if (rule != nullptr && rule->counts_products) sum += rule->work(operands->site(op));
  }
  return sum;
}

std::string text_of(const Operand& operand) {
  return fmt::format("{}[{}]", name_of(operand.type), fmt::join(operand.sizes, ","));
}

Expected<void> want_rank(const Operand& operand, std::string_view what, std::size_t rank) {
  if (operand.rank() == rank) return {};
  return bad_input(
      fmt::format("{} {} is {}, but it has {} dimensions", what, shown(operand.name), text_of(operand), rank));
}

Expected<void> want_sizes(const Operand& operand, std::string_view what, const std::vector<std::int64_t>& sizes) {
  if (operand.sizes == sizes) return {};
  return bad_input(
      fmt::format("{} {} is {} instead of [{}]", what, shown(operand.name), text_of(operand), fmt::join(sizes, ",")));
}

Expected<void> want_constant(const Operand& operand, std::string_view what) {
  if (operand.constant != nullptr) return {};
  return bad_input(fmt::format("{} {} is not constant", what, shown(operand.name)));
}

Expected<void> want_zero_point(const Operand& operand, std::string_view what) {
  TRY(want_sizes(operand, what, {1}));
  TRY(want_constant(operand, what));
  if (operand.type == Type::kI8 || operand.at(0) == 0) return {};
  return bad_input(fmt::format("{} {} is {}, but {} has no zero point", what, shown(operand.name), operand.at(0),
                               name_of(operand.type)));
}

Expected<void> want_numbers(std::span<const std::int32_t> numbers, std::string_view what, std::size_t count,
                            std::int64_t min, std::int64_t max) {
  if (numbers.size() != count)
    return bad_input(fmt::format("{} has {} numbers instead of {}", what, numbers.size(), count));
  for (const std::int32_t number : numbers) {
    if (number < min || number > max) {
      return bad_input(
          fmt::format("{} is [{}], but its numbers are from {} to {}", what, fmt::join(numbers, ","), min, max));
    }
  }
  return {};
}

Expected<void> want_axis(std::int64_t axis, const Operand& operand) {
  if (axis >= 0 && static_cast<std::size_t>(axis) < operand.rank()) return {};
  return bad_input(fmt::format("axis {} of {} {}", axis, shown(operand.name), text_of(operand)));
}

Expected<void> want_steps(const Operand& output, std::size_t axis, std::int64_t extent, std::int64_t stride) {
  if (extent < 0 || extent % stride != 0) {
    return bad_input(fmt::format("along axis {} of {} there are {} to go in steps of {}, which does not come out even",
                                 axis, shown(output.name), extent, stride));
  }
  if (output.size(axis) != extent / stride + 1) {
    return bad_input(fmt::format("the output {} is {}, but {} long along axis {}", shown(output.name), text_of(output),
                                 extent / stride + 1, axis));
  }
  return {};
}

Expected<void> Resources::take(std::uint64_t bytes) {
  if (bytes > bytes_left) return fail(ErrorKind::kUnsupported, "its kernels take more memory than there may be");
  bytes_left -= bytes;
  return {};
}

}  // namespace isthmus::tosa
