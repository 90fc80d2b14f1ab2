// Builds, measures, and reads what vela wrote.
#include "program/fit/delegate_memory.h"

#include <fmt/format.h>
#include <malloc.h>

#include <cstring>
#include <map>
#include <optional>

#include "engines/xnnpack/builder.h"
#include "engines/xnnpack/shapes.h"
#include "formats/executorch/vela.h"
#include "formats/executorch/xnn_blob.h"

namespace isthmus::fit {
namespace {

std::uint64_t allocated_bytes() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

// With its inputs at their upper bounds.
Expected<std::uint64_t> measured(const xnn::Graph& graph, const xnnpack::NamedDataLookup& named_data) {
  const std::uint64_t before = allocated_bytes();
  auto runtime = TRY(xnnpack::build(graph, named_data));
  std::vector<xnnpack::Dims> shapes;
  for (const xnnpack::External& external : runtime.externals()) shapes.push_back(external.dims);
  TRY(runtime.reshape(shapes));
  const std::uint64_t after = allocated_bytes();
  return after > before ? after - before : 0;
}

}  // namespace

Expected<std::vector<DelegateMemory>> delegate_memory(const pte::Program& program, const pte::Plan& plan) {
  std::map<std::string, Blob> named;
  for (const pte::NamedData& data : program.named_data) named.emplace(data.key, data.bytes);
  const xnnpack::NamedDataLookup lookup = [&](const std::string& key) -> std::optional<Blob> {
    const auto found = named.find(key);
    return found == named.end() ? std::nullopt : std::optional(found->second);
  };
  std::vector<DelegateMemory> result;
  for (const pte::Delegate& delegate : plan.delegates) {
    DelegateMemory row;
    row.backend = delegate.id;
    row.flash = delegate.blob.size();
    if (delegate.id == xnn::kBackendId) {
      const auto place = [&] { return fmt::format("delegate {}", result.size()); };
      const xnn::Graph graph = TRY(within(xnn::read_blob(delegate.blob), place));
      row.memory = TRY(within(measured(graph, lookup), place));
      row.source = Source::kMeasured;
    } else if (const auto scratch = vela::scratch_bytes_of(delegate.blob)) {
      row.temp = *scratch;
      row.source = Source::kPayload;
    }
    result.push_back(std::move(row));
  }
  return result;
}

}  // namespace isthmus::fit
