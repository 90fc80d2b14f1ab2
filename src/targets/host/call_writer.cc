// Writes calls of host kernels, and those that compute sizes.
#include "targets/host/call_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "targets/host/kernel.h"
#include "targets/host/names.h"

namespace isthmus::host {
namespace {

// offset + factor * symbol
struct Line {
  std::int64_t factor = 0;
  std::int64_t offset = 0;
};
std::optional<Line> line_in(const Exprs& exprs, Dim dim, std::string_view symbol) {
  Line line;
  for (const Exprs::Summand& summand : exprs.summands(dim)) {
    if (summand.factors.empty()) {
      line.offset = summand.coefficient;
    } else if (summand.factors.size() == 1 && summand.factors[0].kind == Exprs::AtomKind::kSymbol &&
               summand.factors[0].name == symbol) {
      line.factor = summand.coefficient;
    } else {
      return std::nullopt;
    }
  }
  return line.factor > 0 ? std::optional(line) : std::nullopt;
}

}  // namespace

pte::Instruction CallWriter::made(std::string_view kernel, std::vector<pte::ValueIndex> args) {
  const Kernel* row = find_kernel(kernel);
  CHECK(row != nullptr && fits(*row, plan_, args), fmt::format("a call of {} with other arguments", kernel));
  const pte::Operator wanted = operator_of(kernel);
  auto found = std::ranges::find(plan_.operators, wanted);
  if (found == plan_.operators.end()) found = plan_.operators.insert(found, wanted);
  return pte::KernelCall{static_cast<std::uint32_t>(found - plan_.operators.begin()), std::move(args)};
}

void CallWriter::call(std::string_view kernel, std::vector<pte::ValueIndex> args,
                      const std::vector<pte::ValueIndex>& outs) {
  args.insert(args.end(), outs.begin(), outs.end());
  args.push_back(outs.size() == 1 ? outs[0] : values_.tensors(outs));
  plan_.chains[0].instructions.push_back(made(kernel, std::move(args)));
}

void CallWriter::copy(pte::ValueIndex from, pte::ValueIndex to) { call(names::kClone, {from, values_.none()}, {to}); }

void CallWriter::write_back(pte::ValueIndex place, pte::ValueIndex written) {
  plan_.chains[0].instructions.push_back(made(names::kCopyInPlace, {place, written, values_.boolean(false), place}));
}

Expected<pte::ValueIndex> CallWriter::size(Dim dim) {
  if (dim.is_fixed()) return values_.integer(dim.value());
  if (const auto found = sizes_.find(dim); found != sizes_.end()) return found->second;
  const pte::ValueIndex made = TRY(computed(dim));
  return sizes_[dim] = made;
}

pte::ValueIndex CallWriter::primitive(std::string_view kernel, pte::ValueIndex a, pte::ValueIndex b) {
  const pte::ValueIndex result = values_.integer(0);
  size_calls_.push_back(made(kernel, {a, b, result}));
  return result;
}

Expected<pte::ValueIndex> CallWriter::size_of_input(ValueId input, std::size_t axis) {
  return primitive(names::kSizeOfAxis, TRY(values_.tensor(input)), values_.integer(static_cast<std::int64_t>(axis)));
}

Expected<pte::ValueIndex> CallWriter::computed(Dim dim) {
  const Graph& graph = values_.graph();
  for (const ValueId input : graph.inputs()) {
    const Shape& shape = graph.type(input).shape;
    const auto found = std::ranges::find(shape, dim);
    if (found != shape.end()) return size_of_input(input, static_cast<std::size_t>(found - shape.begin()));
  }
  std::optional<pte::ValueIndex> sum;
  for (const Exprs::Summand& summand : values_.exprs().summands(dim)) {
    std::optional<pte::ValueIndex> product;
    if (summand.coefficient != 1 || summand.factors.empty()) product = values_.integer(summand.coefficient);
    for (const Exprs::Factor& next : summand.factors) {
      const pte::ValueIndex value = TRY(factor(next));
      product = product ? primitive(names::kMultiplySizes, *product, value) : value;
    }
    sum = sum ? primitive(names::kAddSizes, *sum, *product) : *product;
  }
  return *sum;
}

Expected<pte::ValueIndex> CallWriter::factor(const Exprs::Factor& factor) {
  switch (factor.kind) {
    case Exprs::AtomKind::kSymbol:
      return symbol(factor.name);
    case Exprs::AtomKind::kFloorDiv:
      return primitive(names::kFloorDivideSizes, TRY(size(factor.arguments[0])), TRY(size(factor.arguments[1])));
    case Exprs::AtomKind::kMax:
      return primitive(names::kMaxOfSizes, TRY(size(factor.arguments[0])), TRY(size(factor.arguments[1])));
    case Exprs::AtomKind::kMin:
      return primitive(names::kMinOfSizes, TRY(size(factor.arguments[0])), TRY(size(factor.arguments[1])));
    case Exprs::AtomKind::kOpaque:
      break;
  }
  return fail(ErrorKind::kUnsupported,
              fmt::format("the size {} cannot be computed when the program runs", factor.name));
}

Expected<pte::ValueIndex> CallWriter::symbol(std::string_view name) {
  if (const auto found = symbols_.find(name); found != symbols_.end()) return found->second;
  const Graph& graph = values_.graph();
  for (const ValueId input : graph.inputs()) {
    const Shape& shape = graph.type(input).shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto line = line_in(graph.exprs(), shape[axis], name);
      if (!line) continue;
      pte::ValueIndex value = TRY(size_of_input(input, axis));
      if (line->offset != 0) value = primitive(names::kSubtractSizes, value, values_.integer(line->offset));
      if (line->factor != 1) value = primitive(names::kFloorDivideSizes, value, values_.integer(line->factor));
      return symbols_[std::string(name)] = value;
    }
  }
  return fail(ErrorKind::kUnsupported, fmt::format("{} does not follow from the input shapes", name));
}

}  // namespace isthmus::host
