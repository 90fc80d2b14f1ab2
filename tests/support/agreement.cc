// Both ways through the stages.
#include "support/agreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "program/lower/lower.h"
#include "session/stages.h"
#include "targets/partition.h"
#include "targets/registry.h"

namespace isthmus::test {
namespace {

std::string places_text(const Graph& graph, const Partitioning& places, const TargetDesc& target) {
  if (const auto refused = demand_host_kernels(graph, places, target); !refused) return refused.error().text();
  std::multiset<std::string> host;
  for (const auto& step : places.schedule) {
    const auto* id = std::get_if<NodeId>(&step);
    if (id == nullptr) continue;
    const Op op = graph[*id].op;
    // I/O conversions follow from the element types of the model's inputs and outputs.
    if (op != Op::kQuantize && op != Op::kDequantize) host.insert(std::string(name_of(op)));
  }
  return fmt::format("{} delegates; on the host: {}", places.segments.size(), fmt::join(host, " "));
}

}  // namespace

std::string broken_agreement(const Graph& model, const std::vector<Tensor>& sample, std::string_view target_name,
                             bool in_float) {
  const TargetDesc& target = *find_target(target_name);
  Diagnostics diagnostics;
  auto prepared = prepare(model, {&target, {}}, diagnostics);
  if (!prepared) return {};  // refused before there is anything to quantize, in every command
  if (!demand_known_ops(prepared->graph, partition(prepared->graph, target), target)) return {};
  std::vector<std::optional<TensorView>> examples;
  for (const Tensor& input : sample) examples.emplace_back(input.view());
  if (in_float) {
    if (const auto kept = keep_in_float(*prepared, target); !kept) return kept.error().text();
    if (!demand_host_kernels(prepared->graph, prepared->partitioning, target)) return {};
    const auto compiled = compile(*prepared, target, examples, nullptr);
    return compiled ? std::string() : "check accepts what compile refuses: " + compiled.error().text();
  }
  const auto checked = quantize(*prepared, target, nullptr, {}, diagnostics);
  if (!checked) return "without samples: " + checked.error().text();
  const std::string before = places_text(checked->quantized.graph, checked->partitioning, target);

  const auto samples = given_samples({sample});
  const xnnpack::ThreadPool threads(1);
  const auto statistics = calibrate(*prepared, *samples, threads, {}, diagnostics);
  if (!statistics) return "calibrate: " + statistics.error().text();
  const auto quantized = quantize(*prepared, target, &*statistics, {}, diagnostics);
  if (!quantized) return fmt::format("check: {}\ncompile: {}", before, quantized.error().text());
  const std::string after = places_text(quantized->quantized.graph, quantized->partitioning, target);
  if (before != after) return fmt::format("check: {}\ncompile: {}", before, after);
  if (!demand_host_kernels(quantized->quantized.graph, quantized->partitioning, target)) return {};
  const auto compiled = compile(quantized->quantized.graph, quantized->partitioning, target, examples, nullptr);
  return compiled ? std::string() : fmt::format("check: {}\ncompile: {}", before, compiled.error().text());
}

}  // namespace isthmus::test
