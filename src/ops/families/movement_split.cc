// Names that cut one tensor into several: split, chunk, tensor_split, unbind.
#include <fmt/format.h>

#include <algorithm>

#include "ops/families/movement.h"
#include "ops/known.h"

namespace isthmus {
namespace {

struct Whole {
  ValueId value;
  std::int64_t axis;
  Dim size;
};

Expected<Whole> whole_of(Call& call, std::int64_t rank_at_least = 1) {
  const ValueId self = TRY(call.tensor("self"));
  if (call.rank(self) < rank_at_least)
    return bad_input(fmt::format("cannot split a tensor of rank {}", call.rank(self)));
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self), 0));
  return Whole{self, axis, call.size(self, axis)};
}

// Pieces of these sizes, one after another. A fixed axis must be used up.
Expected<std::vector<ValueId>> pieces(Call& call, const Whole& whole, const Dims& sizes) {
  if (sizes.size() < call.result_count()) {
    return bad_input(fmt::format("{} parts for {} results", sizes.size(), call.result_count()));
  }
  for (const Dim size : sizes) {
    if (size.is_fixed() && size.value() < 0) return bad_input(fmt::format("invalid part of size {}", size.value()));
  }
  Dim total = 0;
  for (const Dim size : sizes) total = call.exprs().add(total, size);
  if (surely_differ(call.exprs(), total, whole.size)) {
    return bad_input(fmt::format("parts add up to {}, the axis has size {}", call.exprs().text(total),
                                 call.exprs().text(whole.size)));
  }
  std::vector<ValueId> results;
  Dim start = 0;
  for (const Dim size : sizes) {
    const Dim end = call.exprs().add(start, size);
    results.push_back(TRY(call.slice(whole.value, whole.axis, start, end)));
    start = end;
  }
  return results;
}

// The sizes that the archive declares, where they add up to a symbolic axis.
std::optional<Dims> declared_sizes(Call& call, const Whole& whole) {
  if (whole.size.is_fixed()) return std::nullopt;
  Dims sizes;
  Dim total = 0;
  for (std::size_t i = 0; i < call.result_count(); ++i) {
    if (call.result(i).rank() <= static_cast<std::size_t>(whole.axis)) return std::nullopt;
    sizes.push_back(call.result(i).shape[static_cast<std::size_t>(whole.axis)]);
    total = call.exprs().add(total, sizes.back());
  }
  return total == whole.size ? std::optional(sizes) : std::nullopt;
}

// Pieces of `step` elements; the last has what is left.
Expected<std::vector<ValueId>> even_pieces(Call& call, const Whole& whole, Dim step) {
  if (const auto declared = declared_sizes(call, whole)) return pieces(call, whole, *declared);
  Exprs& exprs = call.exprs();
  if (step.is_fixed() && (step.value() < 0 || (step.is(0) && !whole.size.is(0)))) {
    return bad_input(fmt::format("size {} cannot be split by {}", exprs.text(whole.size), step.value()));
  }
  if (whole.size.is(0)) return pieces(call, whole, Dims(call.result_count(), Dim(0)));
  Dims sizes;
  Dim left = whole.size;
  for (std::size_t i = 0; i + 1 < call.result_count(); ++i) {
    sizes.push_back(step);
    left = exprs.subtract(left, step);
  }
  if (surely_exceeds(exprs, left, step)) return bad_input("more parts than results");
  sizes.push_back(left);
  return pieces(call, whole, sizes);
}

Expected<std::vector<ValueId>> read_split_sizes(Call& call) {
  const Whole whole = TRY(whole_of(call));
  return pieces(call, whole, TRY(call.has("split_sizes") ? call.dims("split_sizes") : call.dims("split_size")));
}

Expected<std::vector<ValueId>> read_split(Call& call) {
  const Whole whole = TRY(whole_of(call));
  const ArgValue* argument = call.find("split_size");
  if (argument == nullptr || std::holds_alternative<std::vector<ArgValue>>(argument->value)) {
    return read_split_sizes(call);
  }
  return even_pieces(call, whole, TRY(call.dim("split_size")));
}

Expected<std::vector<ValueId>> read_chunk(Call& call) {
  const Whole whole = TRY(whole_of(call));
  const std::int64_t chunks = TRY(call.integer("chunks"));
  if (chunks < 1) return bad_input(fmt::format("{} chunks", chunks));
  if (whole.size.is_fixed()) {
    return even_pieces(call, whole, whole.size.value() / chunks + (whole.size.value() % chunks != 0 ? 1 : 0));
  }
  return even_pieces(call, whole, call.exprs().floor_divide(call.exprs().add(whole.size, chunks - 1), chunks));
}

// That number of pieces, of which the first few have one element more.
Expected<std::vector<ValueId>> sections_of(Call& call, const Whole& whole, std::int64_t sections) {
  if (sections < 1 || static_cast<std::size_t>(sections) != call.result_count()) {
    return bad_input(fmt::format("{} sections for {} results", sections, call.result_count()));
  }
  if (const auto declared = declared_sizes(call, whole)) return pieces(call, whole, *declared);
  Dims sizes;
  Exprs& exprs = call.exprs();
  for (std::int64_t i = 0; i < sections; ++i) {
    sizes.push_back(exprs.floor_divide(exprs.add(whole.size, sections - 1 - i), sections));
  }
  return pieces(call, whole, sizes);
}

// Pieces that begin at these places, which are read as Python reads bounds.
Expected<std::vector<ValueId>> places_of(Call& call, const Whole& whole, const Dims& places) {
  if (places.size() + 1 != call.result_count()) {
    return bad_input(fmt::format("{} split points for {} results", places.size(), call.result_count()));
  }
  std::vector<ValueId> results;
  Dim start = 0;
  for (std::size_t i = 0; i <= places.size(); ++i) {
    const Dim end = i < places.size() ? places[i] : whole.size;
    const Range range = python_range(call.exprs(), whole.size, start, end);
    results.push_back(TRY(call.slice(whole.value, whole.axis, range.start, range.end)));
    start = end;
  }
  return results;
}

Expected<std::vector<ValueId>> split_as_asked(Call& call, const Whole& whole) {
  if (call.has("sections")) return sections_of(call, whole, TRY(call.integer("sections")));
  if (call.has("indices")) return places_of(call, whole, TRY(call.dims("indices")));
  const ValueId tensor = TRY(call.tensor("tensor_indices_or_sections"));
  const auto known = known_integers(call.graph(), tensor);
  if (!known) return Call::unsupported("the split points depend on the values of a tensor");
  if (call.rank(tensor) == 0) return sections_of(call, whole, (*known)[0]);
  return places_of(call, whole, Dims(known->begin(), known->end()));
}

Expected<std::vector<ValueId>> read_tensor_split(Call& call) { return split_as_asked(call, TRY(whole_of(call))); }

// hsplit, vsplit and dsplit know their axis.
Expected<std::vector<ValueId>> split_along(Call& call, std::int64_t axis, std::int64_t rank_at_least) {
  Whole whole = TRY(whole_of(call, rank_at_least));
  whole.axis = axis;
  whole.size = call.size(whole.value, axis);
  if (call.has("sections")) {
    const std::int64_t sections = TRY(call.integer("sections"));
    if (sections < 1 || (whole.size.is_fixed() && whole.size.value() % sections != 0)) {
      return bad_input(
          fmt::format("size {} cannot be split into {} equal parts", call.exprs().text(whole.size), sections));
    }
  }
  return split_as_asked(call, whole);
}
Expected<std::vector<ValueId>> read_hsplit(Call& call) {
  return split_along(call, call.rank(TRY(call.tensor("self"))) > 1 ? 1 : 0, 1);
}
Expected<std::vector<ValueId>> read_vsplit(Call& call) { return split_along(call, 0, 2); }
Expected<std::vector<ValueId>> read_dsplit(Call& call) { return split_along(call, 2, 3); }

Expected<std::vector<ValueId>> read_unbind(Call& call) {
  const Whole whole = TRY(whole_of(call));
  if (surely_differ(call.exprs(), whole.size, static_cast<std::int64_t>(call.result_count()))) {
    return bad_input(fmt::format("size {} for {} results", call.exprs().text(whole.size), call.result_count()));
  }
  std::vector<ValueId> results;
  for (std::size_t i = 0; i < call.result_count(); ++i) {
    results.push_back(TRY(select(call, whole.value, whole.axis, static_cast<std::int64_t>(i))));
  }
  return results;
}

}  // namespace

std::vector<Spelling> split_spellings() {
  return {
      {"aten.split", read_split, Aliasing::kView},
      {"aten.split_with_sizes", read_split_sizes, Aliasing::kView},
      {"aten.unsafe_split", read_split},
      {"aten.unsafe_split_with_sizes", read_split_sizes},
      {"aten.chunk", read_chunk, Aliasing::kView},
      {"aten.unsafe_chunk", read_chunk},
      {"aten.tensor_split", read_tensor_split, Aliasing::kView},
      {"aten.hsplit", read_hsplit, Aliasing::kView},
      {"aten.vsplit", read_vsplit, Aliasing::kView},
      {"aten.dsplit", read_dsplit, Aliasing::kView},
      {"aten.unbind", read_unbind, Aliasing::kView},
  };
}

}  // namespace isthmus
