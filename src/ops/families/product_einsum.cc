// Sums of products over labelled axes: einsum, tensordot and what comes down to them.
#include <fmt/format.h>

#include <algorithm>

#include "ops/demands.h"
#include "ops/families/product.h"

namespace isthmus {
namespace {

constexpr std::size_t kMaxLabels = 128;

bool contains(const Labels& labels, std::int64_t label) { return std::ranges::find(labels, label) != labels.end(); }

std::int64_t place_of(const Labels& labels, std::int64_t label) {
  return std::ranges::find(labels, label) - labels.begin();
}

// The axes in the order of the given labels, which are all of them.
Expected<Labelled> ordered(Call& call, Labelled operand, const Labels& order) {
  Ints axes;
  for (const std::int64_t label : order) axes.push_back(place_of(operand.labels, label));
  return Labelled{TRY(call.permute(operand.value, std::move(axes))), order};
}

// One axis in place of two with the same label: every (n + 1)-th element of the n * n.
Expected<Labelled> without_repeats(Call& call, Labelled operand) {
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    const auto again =
        std::find(operand.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, operand.labels.end(), operand.labels[i]);
    if (again == operand.labels.end()) continue;
    const auto j = static_cast<std::size_t>(again - operand.labels.begin());
    Shape shape = call.shape(operand.value);
    if (!shape[i].is_fixed() || !shape[j].is_fixed()) return Call::unsupported("a diagonal needs a static size");
    if (shape[i] != shape[j]) return bad_input(call.target() + ": a label has two sizes");
    const std::int64_t size = shape[i].value();
    TRY(demand_list({size}, 1, 0, "size of a diagonal"));
    Ints axes;
    Shape merged;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      if (k == i || k == j) continue;
      axes.push_back(static_cast<std::int64_t>(k));
      merged.push_back(shape[k]);
    }
    axes.insert(axes.end(), {static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)});
    merged.emplace_back(size * size);
    const auto last = static_cast<std::int64_t>(merged.size()) - 1;
    const std::int64_t label = operand.labels[i];
    operand.labels.erase(again);
    operand.labels.erase(operand.labels.begin() + static_cast<std::ptrdiff_t>(i));
    operand.labels.push_back(label);
    operand.value = TRY(call.permute(operand.value, std::move(axes)));
    operand.value = TRY(call.reshape(operand.value, std::move(merged)));
    operand.value = TRY(call.slice(operand.value, last, 0, size * size, size + 1));
    return without_repeats(call, std::move(operand));
  }
  return operand;
}

// Sums over the labels that the result does not need.
Expected<Labelled> summed(Call& call, Labelled operand, const Labels& needed) {
  ReduceAttrs attrs;
  Labels kept;
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    if (contains(needed, operand.labels[i])) {
      kept.push_back(operand.labels[i]);
    } else {
      attrs.axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (attrs.axes.empty()) return operand;
  return Labelled{TRY(call.emit(Op::kSum, std::move(attrs), {operand.value})), kept};
}

Shape sizes_of(Call& call, const Labelled& operand, const Labels& labels) {
  Shape shape;
  for (const std::int64_t label : labels) shape.push_back(call.size(operand.value, place_of(operand.labels, label)));
  return shape;
}

// A label that is 1 on one side only is repeated to the other's size.
Expected<Labelled> stretched(Call& call, Labelled operand, const Labelled& other, const Labels& labels) {
  Shape shape = call.shape(operand.value);
  for (const std::int64_t label : labels) {
    Dim& size = shape[static_cast<std::size_t>(place_of(operand.labels, label))];
    if (size.is(1)) size = call.size(other.value, place_of(other.labels, label));
  }
  operand.value = TRY(call.expand(operand.value, std::move(shape)));
  return operand;
}

Labels joined(const Labels& a, const Labels& b) {
  Labels result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

// The product of two, summed over the labels of both that the result does not need.
Expected<Labelled> pair(Call& call, Labelled a, Labelled b, const Labels& needed) {
  a = TRY(summed(call, std::move(a), joined(needed, b.labels)));
  b = TRY(summed(call, std::move(b), joined(needed, a.labels)));
  Labels batch, summed_over, a_only, b_only;
  for (const std::int64_t label : a.labels) {
    (!contains(b.labels, label) ? a_only : contains(needed, label) ? batch : summed_over).push_back(label);
  }
  for (const std::int64_t label : b.labels) {
    if (!contains(a.labels, label)) b_only.push_back(label);
  }
  const Labels labels = joined(batch, joined(a_only, b_only));
  if (summed_over.empty()) {
    a = TRY(ordered(call, std::move(a), joined(batch, a_only)));
    b = TRY(ordered(call, std::move(b), joined(batch, b_only)));
    Shape a_shape = call.shape(a.value);
    a_shape.resize(a_shape.size() + b_only.size(), Dim(1));
    Shape b_shape = call.shape(b.value);
    b_shape.insert(b_shape.begin() + static_cast<std::ptrdiff_t>(batch.size()), a_only.size(), Dim(1));
    const ValueId left = TRY(call.reshape(a.value, std::move(a_shape)));
    const ValueId right = TRY(call.reshape(b.value, std::move(b_shape)));
    return Labelled{TRY(call.binary(Op::kMul, left, right)), labels};
  }
  const Labelled a_before = a;
  a = TRY(stretched(call, std::move(a), b, summed_over));
  b = TRY(stretched(call, std::move(b), a_before, summed_over));
  a = TRY(ordered(call, std::move(a), joined(batch, joined(a_only, summed_over))));
  b = TRY(ordered(call, std::move(b), joined(batch, joined(summed_over, b_only))));
  const Shape rows = sizes_of(call, a, a_only);
  const Shape columns = sizes_of(call, b, b_only);
  const Dim middle = call.exprs().product(sizes_of(call, a, summed_over));
  const Shape a_batch = sizes_of(call, a, batch);
  const Shape b_batch = sizes_of(call, b, batch);
  Shape a_shape = a_batch;
  a_shape.insert(a_shape.end(), {call.exprs().product(rows), middle});
  Shape b_shape = b_batch;
  b_shape.insert(b_shape.end(), {middle, call.exprs().product(columns)});
  const ValueId left = TRY(call.reshape(a.value, std::move(a_shape)));
  const ValueId right = TRY(call.reshape(b.value, std::move(b_shape)));
  const ValueId product = TRY(call.binary(Op::kMatmul, left, right));
  Shape shape = TRY(broadcast(call.exprs(), a_batch, b_batch));
  shape.insert(shape.end(), rows.begin(), rows.end());
  shape.insert(shape.end(), columns.begin(), columns.end());
  return Labelled{TRY(call.reshape(product, std::move(shape))), labels};
}

// "ab...c" as labels; those of the ellipsis are counted from its right end, so that operands of different ranks meet.
constexpr std::int64_t kEllipsis = 1000;

struct Term {
  Labels labels;
  std::optional<std::size_t> ellipsis;  // its place among the labels
};

Expected<Term> parse_term(std::string_view text) {
  Term term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '.') {
      if (term.ellipsis || text.substr(i, 3) != "...") return bad_input(fmt::format("einsum: term '{}'", text));
      term.ellipsis = term.labels.size();
      i += 2;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      term.labels.push_back(c);
    } else {
      return bad_input(fmt::format("einsum: term '{}'", text));
    }
  }
  return term;
}

Labels spelled_out(const Term& term, std::int64_t ellipsis_rank) {
  if (!term.ellipsis) return term.labels;
  Labels labels = term.labels;
  auto place = labels.begin() + static_cast<std::ptrdiff_t>(*term.ellipsis);
  for (std::int64_t i = 0; i < ellipsis_rank; ++i) place = labels.insert(place, kEllipsis + i);
  return labels;
}

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

Expected<Equation> parse_equation(Call& call, std::string_view text, const Values& values) {
  std::optional<std::string_view> result_text;
  if (const std::size_t arrow = text.find("->"); arrow != std::string_view::npos) {
    result_text = text.substr(arrow + 2);
    text = text.substr(0, arrow);
  }
  Equation equation;
  std::int64_t widest_ellipsis = 0;
  for (const ValueId value : values) {
    const std::size_t comma = text.find(',');
    const bool is_last = equation.operands.size() + 1 == values.size();
    if (is_last != (comma == std::string_view::npos)) return bad_input("einsum: terms and tensors differ in number");
    const Term term = TRY(parse_term(text.substr(0, comma)));
    if (!is_last) text = text.substr(comma + 1);
    const std::int64_t rest = call.rank(value) - static_cast<std::int64_t>(term.labels.size());
    if (rest < 0 || (rest > 0 && !term.ellipsis)) return bad_input("einsum: a term and its tensor differ in rank");
    widest_ellipsis = std::max(widest_ellipsis, rest);
    equation.operands.push_back(spelled_out(term, rest));
  }
  if (result_text) {
    equation.result = spelled_out(TRY(parse_term(*result_text)), widest_ellipsis);
    return equation;
  }
  // Without an arrow: the ellipsis, then the labels that occur once, sorted.
  Labels once;
  Labels all;
  for (const Labels& labels : equation.operands) all = joined(all, labels);
  for (const std::int64_t label : all) {
    if (label < kEllipsis && std::ranges::count(all, label) == 1) once.push_back(label);
  }
  std::ranges::sort(once);
  for (std::int64_t i = widest_ellipsis - 1; i >= 0; --i) equation.result.push_back(kEllipsis + i);
  equation.result = joined(equation.result, once);
  return equation;
}

}  // namespace

Expected<ValueId> contract(Call& call, std::vector<Labelled> operands, const Labels& result) {
  if (operands.empty()) return bad_input(call.target() + ": no operands");
  for (Labelled& operand : operands) {
    if (operand.labels.size() > kMaxLabels) return Call::unsupported("the tensor has too many axes");
    operand = TRY(without_repeats(call, std::move(operand)));
  }
  Labelled product = std::move(operands[0]);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    Labels needed = result;
    for (std::size_t j = i + 1; j < operands.size(); ++j) needed = joined(needed, operands[j].labels);
    product = TRY(pair(call, std::move(product), std::move(operands[i]), needed));
  }
  product = TRY(summed(call, std::move(product), result));
  Labels sorted_product = product.labels;
  Labels sorted_result = result;
  std::ranges::sort(sorted_product);
  std::ranges::sort(sorted_result);
  if (sorted_product != sorted_result)
    return bad_input(call.target() + ": an axis of the result is missing in the inputs, or occurs twice");
  return TRY(ordered(call, std::move(product), result)).value;
}

Expected<Values> read_einsum(Call& call) {
  const std::string text = TRY(call.text("equation"));
  const Values values = TRY(call.tensors("tensors"));
  if (values.empty() || text.size() > 1000) return bad_input("einsum: no tensors, or the equation is too long");
  const Equation equation = TRY(parse_equation(call, text, values));
  std::vector<Labelled> operands;
  for (std::size_t i = 0; i < values.size(); ++i) operands.push_back({values[i], equation.operands[i]});
  return one(contract(call, std::move(operands), equation.result));
}

Expected<Values> read_tensordot(Call& call) {
  const ValueId a = TRY(call.tensor("self"));
  const ValueId b = TRY(call.tensor("other"));
  const Ints a_axes = TRY(call.integers("dims_self"));
  const Ints b_axes = TRY(call.integers("dims_other"));
  if (a_axes.size() != b_axes.size()) return bad_input(call.target() + ": axes of the tensors do not correspond");
  Labels a_labels(call.shape(a).size(), -1);
  Labels b_labels(call.shape(b).size(), -1);
  for (std::size_t i = 0; i < a_axes.size(); ++i) {
    const auto label = static_cast<std::int64_t>(i);
    const auto a_axis = static_cast<std::size_t>(TRY(normal_axis(a_axes[i], call.rank(a))));
    const auto b_axis = static_cast<std::size_t>(TRY(normal_axis(b_axes[i], call.rank(b))));
    if (a_axis >= a_labels.size() || b_axis >= b_labels.size() || a_labels[a_axis] >= 0 || b_labels[b_axis] >= 0) {
      return bad_input(call.target() + ": an axis occurs twice");
    }
    a_labels[a_axis] = label;
    b_labels[b_axis] = label;
  }
  Labels result;
  auto next = static_cast<std::int64_t>(a_axes.size());
  for (Labels* labels : {&a_labels, &b_labels}) {
    for (std::int64_t& label : *labels) {
      if (label >= 0) continue;
      label = next++;
      result.push_back(label);
    }
  }
  return one(contract(call, {{a, a_labels}, {b, b_labels}}, result));
}

}  // namespace isthmus
