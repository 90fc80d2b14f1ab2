// Rows of memory and flash.
#include "report/fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/counts.h"
#include "report/json_parts.h"

namespace isthmus {
namespace {

std::string_view source_name(fit::Source source) {
  switch (source) {
    case fit::Source::kMeasured:
      return "measured";
    case fit::Source::kPayload:
      return "payload";
    case fit::Source::kUnknown:
      break;
  }
  return "unknown";
}

std::string delegate_words(const fit::DelegateMemory& delegate) {
  switch (delegate.source) {
    case fit::Source::kMeasured:
      return fmt::format("{} bytes, measured on this CPU", with_separators(delegate.memory));
    case fit::Source::kPayload:
      return fmt::format("{} bytes of temp memory, as its payload says", with_separators(delegate.temp));
    case fit::Source::kUnknown:
      break;
  }
  return "unknown";
}

void check(std::vector<std::string>& out, std::string_view what, std::uint64_t needed,
           const std::optional<std::uint64_t>& there) {
  if (!there || needed <= *there) return;
  out.push_back(fmt::format("it needs {} bytes of {} and has {}: {} too many", with_separators(needed), what,
                            with_separators(*there), with_separators(needed - *there)));
}

}  // namespace

std::vector<std::string> too_large(const FitSummary& summary) {
  std::vector<std::string> out;
  check(out, "SRAM", summary.demand.sram_bytes(), summary.sram);
  check(out, "flash", summary.demand.flash.bytes, summary.flash);
  return out;
}

std::string to_text(const FitSummary& summary, TextStyle style) {
  constexpr std::size_t kMaxRows = 8;
  const fit::Demand& demand = summary.demand;
  Rows rows(style);
  const auto bytes = [](std::uint64_t number) { return with_separators(number) + " bytes"; };
  rows.add("program",
           fmt::format("{}, method {}, pointers of {} bytes", summary.file, summary.method, demand.pointer_bytes));
  rows.add("SRAM", bytes(demand.sram_bytes()));
  rows.add("  method", fmt::format("{}: values {}, delegates {}, instructions {}", bytes(demand.method.bytes),
                                   demand.method.values, demand.method.delegates, demand.method.instructions));
  for (const fit::PlannedMemory& memory : demand.planned) {
    rows.add("  planned", fmt::format("{} of memory {}; {} are alive at instruction {}", bytes(memory.bytes), memory.id,
                                      with_separators(memory.min), memory.instruction));
    for (std::size_t i = 0; i < std::min(memory.peak.size(), kMaxRows); ++i) {
      const fit::PlannedTensor& tensor = memory.peak[i];
      rows.add("", fmt::format("  {:>10}  {} {}", with_separators(tensor.bytes), tensor.type,
                               tensor.role.empty() ? fmt::format("value {}", tensor.value) : tensor.role));
    }
    if (memory.peak.size() > kMaxRows) rows.add("", fmt::format("  and {} more", memory.peak.size() - kMaxRows));
  }
  rows.add("  temp",
           fmt::format("{}; {} to look up kernels, or {} from the method allocator if there is no temp allocator",
                       bytes(demand.temp_bytes()), demand.method.lookup_temp, demand.method.lookup_without_temp));
  std::vector<std::string> delegates;
  for (std::size_t i = 0; i < std::min(demand.delegates.size(), kMaxRows); ++i) {
    delegates.push_back(fmt::format("{} {}: {}", i, demand.delegates[i].backend, delegate_words(demand.delegates[i])));
  }
  if (demand.delegates.size() > kMaxRows)
    delegates.push_back(fmt::format("and {} more", demand.delegates.size() - kMaxRows));
  rows.add("  delegates", bytes(demand.delegate_bytes()));
  rows.add("", delegates);
  rows.add("flash", fmt::format("{}: program {}, constants {}, delegates {}, named data {}, initial values {}",
                                bytes(demand.flash.bytes), demand.flash.program, demand.flash.constants,
                                demand.flash.delegates, demand.flash.named_data, demand.flash.initial_values));
  rows.add("kernels", demand.kernels.empty()
                          ? std::string("none to link")
                          : fmt::format("{}: {}", demand.kernels.size(), fmt::join(demand.kernels, ", ")));
  const std::vector<std::string> ways = fit::advice(demand);
  if (!ways.empty()) rows.add("less", ways);
  const auto unknown = std::ranges::find(demand.delegates, fit::Source::kUnknown, &fit::DelegateMemory::source);
  if ((summary.sram || summary.flash) && too_large(summary).empty()) {
    rows.add("fits", unknown == demand.delegates.end()
                         ? std::string("yes")
                         : fmt::format("yes, without the unknown memory of {}", unknown->backend));
  }
  return rows.text();
}

std::string to_json(const FitSummary& summary) {
  const fit::Demand& demand = summary.demand;
  Json planned = Json::array();
  for (const fit::PlannedMemory& memory : demand.planned) {
    Json peak = Json::array();
    for (const fit::PlannedTensor& tensor : memory.peak) {
      peak.push_back({{"value", tensor.value}, {"role", tensor.role}, {"type", tensor.type}, {"bytes", tensor.bytes}});
    }
    planned.push_back({{"memory", memory.id},
                       {"bytes", memory.bytes},
                       {"alive_bytes", memory.min},
                       {"instruction", memory.instruction},
                       {"peak", std::move(peak)}});
  }
  Json delegates = Json::array();
  for (const fit::DelegateMemory& delegate : demand.delegates) {
    delegates.push_back({{"backend", delegate.backend},
                         {"flash_bytes", delegate.flash},
                         {"bytes", delegate.memory},
                         {"temp_bytes", delegate.temp},
                         {"source", source_name(delegate.source)}});
  }
  Json json{{"file", summary.file},
            {"method", summary.method},
            {"pointer_bytes", demand.pointer_bytes},
            {"sram_bytes", demand.sram_bytes()},
            {"method_allocator",
             {{"bytes", demand.method.bytes},
              {"values", demand.method.values},
              {"delegates", demand.method.delegates},
              {"instructions", demand.method.instructions},
              {"lookup_without_temp", demand.method.lookup_without_temp}}},
            {"planned_bytes", demand.planned_bytes()},
            {"planned", std::move(planned)},
            {"temp_bytes", demand.temp_bytes()},
            {"delegate_bytes", demand.delegate_bytes()},
            {"delegates", std::move(delegates)},
            {"flash_bytes", demand.flash.bytes},
            {"flash",
             {{"program", demand.flash.program},
              {"constants", demand.flash.constants},
              {"delegates", demand.flash.delegates},
              {"named_data", demand.flash.named_data},
              {"initial_values", demand.flash.initial_values}}},
            {"kernels", demand.kernels},
            {"advice", fit::advice(demand)},
            {"too_large", too_large(summary)}};
  return dump(json);
}

}  // namespace isthmus
