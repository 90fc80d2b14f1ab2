// Operators whose elements come from, or go to, rows that another tensor names.
#include <fmt/format.h>

#include <cstring>

#include "targets/tosa/rules.h"

namespace isthmus::tosa {
namespace {

// values[batch, rows, width] and indices[batch, picks]
struct Rows {
  std::int64_t batch = 0;
  std::int64_t rows = 0;
  std::int64_t picks = 0;
  std::size_t width = 0;  // bytes of a row
};
Rows rows_of(const Site& site) {
  const Operand& values = site.inputs[0];
  return {values.size(0), values.size(1), site.inputs[1].size(1),
          static_cast<std::size_t>(values.size(2)) * size_of(memory_type(values.type))};
}

// Calls use(row of values, pick) for each index, as offsets in bytes.
template <class Use>
Expected<void> for_each_pick(const Rows& shape, const std::int32_t* indices, Use use) {
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    for (std::int64_t w = 0; w < shape.picks; ++w) {
      const std::int64_t pick = n * shape.picks + w;
      const std::int32_t row = indices[pick];
      if (row < 0 || row >= shape.rows) return bad_input(fmt::format("index {} of {} rows", row, shape.rows));
      use(static_cast<std::size_t>(n * shape.rows + row) * shape.width, static_cast<std::size_t>(pick) * shape.width);
    }
  }
  return {};
}

Expected<void> check_index(const Site& site, const Operand& picked, std::string_view what) {
  const Operand& values = site.inputs[0];
  const Operand& indices = site.inputs[1];
  TRY(want_rank(values, "the values", 3));
  TRY(want_rank(indices, "the indices", 2));
  TRY(want_sizes(indices, "the indices", {values.size(0), indices.size(1)}));
  return want_sizes(picked, what, {values.size(0), indices.size(1), values.size(2)});
}

Expected<void> check_gather(const Site& site) { return check_index(site, site.output, "the output"); }
Expected<Kernel> gather_kernel(const SharedSite& site, Resources&) {
  return Kernel{[shape = rows_of(*site)](const Call& call) -> Expected<void> {
    return for_each_pick(shape, call.input<std::int32_t>(1), [&](std::size_t row, std::size_t pick) {
      std::memcpy(call.output + pick, call.inputs[0] + row, shape.width);
    });
  }};
}

Expected<void> check_scatter(const Site& site) {
  TRY(want_sizes(site.output, "the output", site.inputs[0].sizes));
  return check_index(site, site.inputs[2], "the input");
}
// Of several picks for one row the last one stays; the standard leaves it open.
Expected<Kernel> scatter_kernel(const SharedSite& site, Resources&) {
  return Kernel{[shape = rows_of(*site)](const Call& call) -> Expected<void> {
    std::memcpy(call.output, call.inputs[0], static_cast<std::size_t>(shape.batch * shape.rows) * shape.width);
    return for_each_pick(shape, call.input<std::int32_t>(1), [&](std::size_t row, std::size_t pick) {
      std::memcpy(call.output + row, call.inputs[2] + pick, shape.width);
    });
  }};
}

constexpr Rule kIndexRules[] = {
    {.op = Op::kGather, .types = "i8/i16/i32 i32 > =0", .check = check_gather, .plain = gather_kernel},
    {.op = Op::kScatter, .types = "i8/i16/i32 i32 =0 > =0", .check = check_scatter, .plain = scatter_kernel},
};

}  // namespace

std::span<const Rule> index_rules() { return kIndexRules; }

}  // namespace isthmus::tosa
