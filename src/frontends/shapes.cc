// Finds the symbols that a request fixes or bounds.
#include "frontends/shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "ir/specialize.h"

namespace isthmus {
namespace {

// Sizes beyond this mean that there is no bound: exporters write huge numbers for "any".
constexpr std::int64_t kMaxSize = std::numeric_limits<std::int32_t>::max();

class Request {
 public:
  Request(const Graph& graph, Diagnostics& diagnostics) : graph_(graph), diagnostics_(diagnostics) {}

  Expected<void> fix_input(std::size_t i, const std::vector<std::int64_t>& sizes) {
    const TensorType& type = graph_.type(graph_.inputs()[i]);
    const std::string wanted = fmt::format("[{}] was requested", fmt::join(sizes, ","));
    if (sizes.size() != type.rank()) return refuse(i, wanted);
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      TRY(within(fix(type.shape[axis], sizes[axis]), [&] { return described(i, wanted); }));
    }
    return {};
  }
  Expected<void> fix_batch(std::int64_t batch) {
    bool is_found = false;
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
      const TensorType& type = graph_.type(graph_.inputs()[i]);
      if (type.rank() == 0) continue;
      is_found = true;
      TRY(within(fix(type.shape[0], batch),
                 [&] { return described(i, fmt::format("--batch {} was requested", batch)); }));
    }
    if (!is_found) return bad_input("no input has a batch dimension");
    return {};
  }
  Expected<void> bound_batch(std::int64_t max_batch) {
    for (const ValueId input : graph_.inputs()) {
      const TensorType& type = graph_.type(input);
      if (type.rank() == 0 || type.shape[0].is_fixed()) continue;
      const std::string name = graph_.exprs().text(type.shape[0]);
      const Symbol* symbol = graph_.exprs().find_symbol(name);
      if (symbol == nullptr) continue;
      if (symbol->max && *symbol->max < max_batch) {
        return bad_input(fmt::format("--max-batch {}: the model was exported for at most {}", max_batch, *symbol->max));
      }
      if (symbol->min && *symbol->min > max_batch) {
        return bad_input(
            fmt::format("--max-batch {}: the model was exported for at least {}", max_batch, *symbol->min));
      }
      upper_bounds_[name] = max_batch;
    }
    if (upper_bounds_.empty())
      return bad_input("--max-batch: the model has a static batch size; export it with a dynamic batch dimension");
    return {};
  }

  Expected<Graph> result(SizesWanted wanted) {
    for (const auto& [name, value] : numbers_) {
      diagnostics_.note("fixed-size", "", fmt::format("dimension {} is fixed to {}, as requested", name, value));
    }
    const SymbolValues asked = numbers_;
    const std::string_view flags =
        wanted == SizesWanted::kBounded ? "--batch, --max-batch or --shape" : "--batch or --shape";
    for (const Symbol& symbol : graph_.exprs().symbols()) {
      if (asked.contains(symbol.name)) continue;
      const auto bound = upper_bounds_.find(symbol.name);
      const bool is_bounded = (symbol.max && *symbol.max <= kMaxSize) || bound != upper_bounds_.end();
      if (is_bounded && wanted == SizesWanted::kBounded) continue;
      const std::string what = is_bounded ? "the target needs static shapes" : "it has no upper bound";
      if (!symbol.hint) {
        return bad_input(fmt::format("dimension {}: {}; give one with {}", symbol.name, what, flags));
      }
      const bool is_less = bound != upper_bounds_.end() && bound->second < *symbol.hint;
      numbers_[symbol.name] = is_less ? bound->second : *symbol.hint;
      diagnostics_.warn(
          is_bounded ? "fixed-size" : "unbounded-size", "",
          fmt::format("dimension {} is fixed to {} {}: {}; {} overrides it", symbol.name,
                      is_less ? "its largest size," : "the example's size", numbers_[symbol.name], what, flags));
    }
    return specialize(graph_, numbers_, upper_bounds_);
  }

 private:
  std::string described(std::size_t i, const std::string& wanted) const {
    const Value& value = graph_[graph_.inputs()[i]];
    return fmt::format("input {} ({}) is {}, {}", i, value.name, type_text(graph_, value.type), wanted);
  }
  Expected<void> refuse(std::size_t i, const std::string& wanted) const { return bad_input(described(i, wanted)); }

  Expected<void> fix(Dim dim, std::int64_t size) {
    const Exprs& exprs = graph_.exprs();
    if (dim.is_fixed()) {
      if (dim.value() == size) return {};
      return bad_input(fmt::format("dimension {} is static and cannot be {}", dim.value(), size));
    }
    const std::vector<std::string> names = exprs.symbols_in(dim);
    if (names.size() != 1) return bad_input(fmt::format("dimension {} is not a single symbol", exprs.text(dim)));
    const Symbol& symbol = *exprs.find_symbol(names[0]);
    const auto at = [&](std::int64_t value) { return exprs.evaluate(dim, {{names[0], value}}); };
    const auto at_zero = at(0);
    const auto at_one = at(1);
    if (!at_zero || !at_one || *at_one <= *at_zero) {
      return bad_input(fmt::format("dimension {} does not determine {}", exprs.text(dim), names[0]));
    }
    const std::int64_t value = (size - *at_zero) / (*at_one - *at_zero);
    const auto check = at(value);
    if (!check || *check != size) return bad_input(fmt::format("{} cannot be {}", exprs.text(dim), size));
    if ((symbol.min && value < *symbol.min) || (symbol.max && value > *symbol.max)) {
      return bad_input(fmt::format("{} = {} is outside the range for which the model was exported ({}..{})", names[0],
                                   value, symbol.min ? std::to_string(*symbol.min) : "",
                                   symbol.max ? std::to_string(*symbol.max) : ""));
    }
    const auto [known, is_new] = numbers_.emplace(names[0], value);
    if (!is_new && known->second != value) {
      return bad_input(fmt::format("{} would be both {} and {}", names[0], known->second, value));
    }
    return {};
  }

  const Graph& graph_;
  Diagnostics& diagnostics_;
  SymbolValues numbers_;
  SymbolValues upper_bounds_;
};

}  // namespace

Expected<Graph> with_requested_shapes(const Graph& graph, const ShapeRequest& request, SizesWanted sizes_wanted,
                                      Diagnostics& diagnostics) {
  Request wanted(graph, diagnostics);
  for (const auto& [name, sizes] : request.inputs) {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
      if (graph[graph.inputs()[i]].name == name || fmt::format("input_{}", i) == name) found = i;
    }
    if (!found) return bad_input(fmt::format("--shape {}: the model has no input of this name", name));
    TRY(wanted.fix_input(*found, sizes));
  }
  if (request.batch) TRY(wanted.fix_batch(*request.batch));
  if (request.max_batch) TRY(wanted.bound_batch(*request.max_batch));
  return wanted.result(sizes_wanted);
}

std::vector<std::optional<TensorView>> fitting_examples(const Graph& graph,
                                                        std::vector<std::optional<TensorView>> examples) {
  for (std::size_t i = 0; i < std::min(examples.size(), graph.inputs().size()); ++i) {
    const Shape& shape = graph.type(graph.inputs()[i]).shape;
    if (!examples[i] || shape.empty() || examples[i]->sizes.size() != shape.size()) continue;
    const std::optional<std::int64_t> max = shape[0].is_fixed() ? shape[0].value() : graph.exprs().bounds(shape[0]).max;
    std::int64_t& batch = examples[i]->sizes[0];
    if (max && *max > 0) batch = std::min(batch, *max);
  }
  return examples;
}

}  // namespace isthmus
