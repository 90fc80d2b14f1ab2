// Names, element types and shapes of arrays against those of a graph's inputs.
#include "calibrate/sample_fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/untrusted_text.h"
#include "interpret/half.h"
#include "interpret/interpreter.h"

namespace isthmus {
namespace {

// The array of an .npz file that has the classes of the samples.
constexpr std::string_view kLabels = "labels";

Tensor rounded_to_f32(const Tensor& tensor) {
  Tensor result(DType::kF32, tensor.sizes());
  std::ranges::transform(tensor.data<double>(), result.mutable_data<float>().begin(),
                         [](double number) { return static_cast<float>(number); });
  return result;
}

struct DTypePair {
  DType from, to;
  Tensor (*convert)(const Tensor&);
};
constexpr DTypePair kConversions[] = {
    {DType::kF64, DType::kF32, rounded_to_f32},
    {DType::kF32, DType::kBF16, [](const Tensor& tensor) { return narrowed(tensor, DType::kBF16); }},
};

const DTypePair* find_conversion(DType from, DType to) {
  const auto* const row = std::ranges::find_if(
      kConversions, [&](const DTypePair& conversion) { return conversion.from == from && conversion.to == to; });
  return row == std::end(kConversions) ? nullptr : row;
}

Expected<void> check_dtype(const Value& input, const OfferedArray& array) {
  const DType wanted = input.type.dtype;
  if (array.dtype == wanted || find_conversion(array.dtype, wanted) != nullptr) return {};
  const bool needs_scaling = is_floating(wanted) && !is_floating(array.dtype);
  return bad_input(fmt::format("{} is {}, but input {} takes {}: {}save it as {}", array.label, name_of(array.dtype),
                               input.name, name_of(wanted), needs_scaling ? "scale it as in training and " : "",
                               name_of(wanted)));
}

// An array can have all axes of its input, or all but the batch axis; axes of the array begin at `first`.
enum class Form : std::uint8_t { kWhole, kRows, kNone };

struct Axes {
  Form form = Form::kNone;
  std::size_t first = 0;  // axis of the array that follows the one that counts samples
};

Axes axes_of(const TensorType& input, const OfferedArray& array) {
  const std::size_t first = array.counts_samples ? 1 : 0;
  const std::size_t rank = array.sizes.size();
  if (rank == input.rank() + first) return {Form::kWhole, first};
  if (input.rank() > 0 && rank + 1 == input.rank() + first) return {Form::kRows, first};
  return {Form::kNone, first};
}

// Calls `visit` with each dimension of the input that an axis of the array stands for, and the size there.
template <class Visit>
void each_axis(const TensorType& input, const OfferedArray& array, const Axes& axes, Visit visit) {
  const std::size_t skipped = axes.form == Form::kRows ? 1 : 0;
  for (std::size_t axis = skipped; axis < input.rank(); ++axis) {
    visit(input.shape[axis], array.sizes[axes.first + axis - skipped]);
  }
}

// What the sizes of a sample must be permuted by to fit the input, where there is such a permutation: axis i of the
// result is axis permutation[i] of the sample. Channels that stand last, or first, are tried before all others.
std::optional<std::vector<std::size_t>> matching_permutation(const TensorType& input, const OfferedArray& array) {
  const Axes axes = axes_of(input, array);
  constexpr std::size_t kMaxAxes = 6;
  if (axes.form == Form::kNone) return std::nullopt;
  std::vector<Dim> wanted;
  std::vector<std::int64_t> sizes;
  each_axis(input, array, axes, [&](Dim dim, std::int64_t size) {
    wanted.push_back(dim);
    sizes.push_back(size);
  });
  // The batch axis stays where it is.
  const std::size_t first = axes.form == Form::kWhole ? 1 : 0;
  if (wanted.size() < first + 2 || wanted.size() > first + kMaxAxes) return std::nullopt;
  const auto fits = [&](const std::vector<std::size_t>& order) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (wanted[i].is_fixed() && !wanted[i].is(sizes[order[i]])) return false;
    }
    return true;
  };
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto begin = order.begin() + static_cast<std::ptrdiff_t>(first);
  std::vector<std::size_t> last_first = order, first_last = order;
  std::rotate(last_first.begin() + static_cast<std::ptrdiff_t>(first), last_first.end() - 1, last_first.end());
  std::rotate(first_last.begin() + static_cast<std::ptrdiff_t>(first),
              first_last.begin() + static_cast<std::ptrdiff_t>(first) + 1, first_last.end());
  for (const auto& likely : {last_first, first_last}) {
    if (fits(likely)) return likely;
  }
  while (std::next_permutation(begin, order.end())) {
    if (fits(order)) return order;
  }
  return std::nullopt;
}

tl::unexpected<Error> wrong_shape(const Graph& graph, const Value& input, const OfferedArray& array) {
  const Shape& shape = input.type.shape;
  std::vector<std::string> sizes;
  for (const Dim dim : shape) sizes.push_back(graph.exprs().text(dim));
  const auto form = [&](std::size_t from) {
    return fmt::format("{}[{}{}]", name_of(input.type.dtype),
                       array.counts_samples ? from < sizes.size() ? "N," : "N" : "",
                       fmt::join(sizes.begin() + static_cast<std::ptrdiff_t>(from), sizes.end(), ","));
  };
  const bool can_lack_batch = !shape.empty() && (array.counts_samples || !shape[0].is_fixed() || shape[0].is(1));
  return bad_input(fmt::format("{}, but input {} takes {}{}{}{}", array.text(), input.name,
                               can_lack_batch ? form(1) + " or " : "", form(0),
                               array.counts_samples ? ", where N counts samples" : "", order_hint(input.type, array)));
}

// Rows of a batch: what the model fixes, else the fewest that its bounds allow.
Expected<std::int64_t> batch_size(const Exprs& exprs, Dim dim, const SymbolValues& known) {
  SymbolValues values = known;
  for (const std::string& name : exprs.symbols_in(dim)) {
    values.emplace(name, std::max<std::int64_t>(1, exprs.find_symbol(name)->min.value_or(1)));
  }
  const std::int64_t size = TRY(exprs.evaluate(dim, values));
  if (size < 1)
    return bad_input(fmt::format("the first dimension {} is {}; at least 1 is needed", exprs.text(dim), size));
  return size;
}

// The sizes of symbols that stand alone in an axis of an array.
SymbolValues symbols_of(const Graph& graph, std::span<const OfferedArray> arrays) {
  SymbolValues known;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const TensorType& type = graph.type(graph.inputs()[i]);
    each_axis(type, arrays[i], axes_of(type, arrays[i]), [&](Dim dim, std::int64_t size) {
      const std::string text = graph.exprs().text(dim);
      if (graph.exprs().find_symbol(text) != nullptr) known.emplace(text, size);
    });
  }
  return known;
}

Expected<SampleFit> fit_sample(const Graph& graph, const Value& input, const OfferedArray& array,
                               const SymbolValues& known) {
  const Axes axes = axes_of(input.type, array);
  SampleFit fit;
  if (axes.form == Form::kRows) {
    const std::int64_t batch = TRY(within(batch_size(graph.exprs(), input.type.shape[0], known), array.label));
    if (array.counts_samples) {
      fit.rows = batch;
    } else if (batch != 1) {
      return wrong_shape(graph, input, array);
    }
    fit.sizes.push_back(batch);
  }
  fit.sizes.insert(fit.sizes.end(), array.sizes.begin() + static_cast<std::ptrdiff_t>(axes.first), array.sizes.end());
  if (std::ranges::find(fit.sizes, 0) != fit.sizes.end()) {
    return bad_input(fmt::format("{}: a sample is empty", array.text()));
  }
  return fit;
}

std::string list_of(std::span<const std::string> names) {
  constexpr std::size_t kMaxShown = 8;
  const auto shown = names.first(std::min(names.size(), kMaxShown));
  return fmt::format("{}{}", fmt::join(shown, ", "),
                     names.size() > shown.size() ? fmt::format(" and {} more", names.size() - shown.size()) : "");
}

}  // namespace

std::string order_hint(const TensorType& input, const OfferedArray& array) {
  const auto order = matching_permutation(input, array);
  if (!order) return "";
  const std::size_t first = axes_of(input, array).first;
  std::vector<std::size_t> axes;
  if (first == 1) axes.push_back(0);
  for (const std::size_t axis : *order) axes.push_back(axis + first);
  constexpr std::size_t kImageRank = 4;
  const bool is_image = input.rank() == kImageRank && axes.size() >= 3 && order->back() + 2 == order->size();
  return fmt::format("; its axes seem to be permuted{}: save it as numpy.transpose(x, ({}))",
                     is_image ? ", channels-last (NHWC) where the model expects channels-first (NCHW)" : "",
                     fmt::join(axes, ", "));
}

std::string OfferedArray::text() const {
  return fmt::format("{} is {}[{}]", label, name_of(dtype), fmt::join(sizes, ","));
}

OfferedArray offered(const NpzArray& array, bool counts_samples) {
  return {fmt::format("array {}", shown(array.name)), array.dtype, array.shape, counts_samples};
}

Expected<std::vector<const NpzArray*>> arrays_for_inputs(const Npz& npz, const Graph& graph) {
  std::vector<std::string> names, numbers;
  for (const ValueId id : graph.inputs()) {
    names.push_back(graph[id].name);
    numbers.push_back(fmt::format("input_{}", numbers.size()));
  }
  const auto find_all = [&](const std::vector<std::string>& wanted) {
    std::vector<const NpzArray*> found;
    for (const std::string& name : wanted) found.push_back(npz.find(name));
    return found;
  };
  const auto gaps = [](const std::vector<const NpzArray*>& found) { return std::ranges::count(found, nullptr); };
  const auto by_name = find_all(names), by_number = find_all(numbers);
  auto found = gaps(by_number) < gaps(by_name) ? by_number : by_name;
  // One input, and one array of its element type: there is no other way to read that.
  if (found.size() == 1 && found[0] == nullptr) {
    const DType wanted = graph.type(graph.inputs()[0]).dtype;
    const auto is_candidate = [&](const NpzArray& array) {
      return array.name != kLabels && !array.unsupported && array.dtype == wanted;
    };
    if (std::ranges::count_if(npz.arrays(), is_candidate) == 1) {
      found[0] = &*std::ranges::find_if(npz.arrays(), is_candidate);
    }
  }
  if (gaps(found) == 0) {
    for (const NpzArray* array : found) {
      if (array->unsupported) return tl::unexpected<Error>(*array->unsupported);
    }
    return found;
  }
  std::vector<std::string> present;
  for (const NpzArray& array : npz.arrays()) {
    present.push_back(array.unsupported ? shown(array.name)
                                        : fmt::format("{} {}[{}]", shown(array.name), name_of(array.dtype),
                                                      fmt::join(array.shape, ",")));
  }
  const auto missing = static_cast<std::size_t>(std::ranges::find(found, nullptr) - found.begin());
  return bad_input(fmt::format("no array for input {}: expected arrays named {}, or {}; the file has {}",
                               names[missing], list_of(names), list_of(numbers),
                               present.empty() ? "none" : list_of(present)));
}

Expected<std::vector<SampleFit>> fit_samples(const Graph& graph, std::span<const OfferedArray> arrays) {
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Value& input = graph[graph.inputs()[i]];
    TRY(check_dtype(input, arrays[i]));
    const Axes axes = axes_of(input.type, arrays[i]);
    bool fits = axes.form != Form::kNone;
    if (fits) {
      each_axis(input.type, arrays[i], axes,
                [&](Dim dim, std::int64_t size) { fits = fits && (!dim.is_fixed() || dim.is(size)); });
    }
    if (!fits) return wrong_shape(graph, input, arrays[i]);
  }
  const SymbolValues known = symbols_of(graph, arrays);
  std::vector<SampleFit> fits;
  std::vector<TensorType> types;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Value& input = graph[graph.inputs()[i]];
    fits.push_back(TRY(fit_sample(graph, input, arrays[i], known)));
    types.push_back({input.type.dtype, {fits[i].sizes.begin(), fits[i].sizes.end()}});
    texts.push_back(arrays[i].text());
  }
  TRY(within(bind_symbols(graph, types), [&] { return list_of(texts); }));
  return fits;
}

Expected<std::int64_t> count_samples(std::span<const OfferedArray> arrays, std::span<const SampleFit> fits) {
  if (arrays.empty()) return bad_input("the model has no inputs, so it has no samples");
  const auto rows_text = [&](std::size_t i) {
    return fmt::format("{} has {} rows{}", arrays[i].label, arrays[i].sizes[0],
                       fits[i].rows == 1 ? "" : fmt::format(" for samples of {}", fits[i].rows));
  };
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].sizes[0] < fits[i].rows) return bad_input(rows_text(i) + ": too few for one sample");
    const auto product = [&](std::size_t array, std::size_t fit) {
      return multiply_sizes(static_cast<std::uint64_t>(arrays[array].sizes[0]),
                            static_cast<std::uint64_t>(fits[fit].rows));
    };
    if (!product(0, i) || product(0, i) != product(i, 0)) {
      return bad_input(
          fmt::format("{} and {}: all arrays need the same number of samples", rows_text(0), rows_text(i)));
    }
  }
  return arrays[0].sizes[0] / fits[0].rows;
}

void note_conversions(const Graph& graph, std::span<const OfferedArray> arrays, Diagnostics& diagnostics) {
  constexpr std::string_view kCode = "sample-converted";
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Value& input = graph[graph.inputs()[i]];
    if (arrays[i].dtype == input.type.dtype) continue;
    const bool is_known = std::ranges::any_of(diagnostics.entries(), [&](const Diagnostic& entry) {
      return entry.code == kCode && entry.node == input.name;
    });
    if (is_known) continue;
    diagnostics.note(std::string(kCode), input.name,
                     fmt::format("{} is {} and is converted to {}, the type of input {}", arrays[i].label,
                                 name_of(arrays[i].dtype), name_of(input.type.dtype), input.name));
  }
}

Tensor as_input(const Tensor& tensor, DType dtype, std::vector<std::int64_t> sizes) {
  const DTypePair* conversion = find_conversion(tensor.dtype(), dtype);
  CHECK(conversion != nullptr || tensor.dtype() == dtype, "an array that does not fit its input was read");
  return (conversion == nullptr ? tensor : conversion->convert(tensor)).with_sizes(std::move(sizes));
}

}  // namespace isthmus
