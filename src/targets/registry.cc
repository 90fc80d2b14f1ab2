// The list of targets.
#include "targets/registry.h"

#include <algorithm>
#include <utility>

#include "targets/ethos_u/desc.h"
#include "targets/xnnpack/desc.h"
#include "targets/xnnpack/tap.h"

namespace isthmus {
namespace {

// ethos-u55-64 stands before ethos-u55-128.
std::pair<std::string_view, std::size_t> key_of(const TargetDesc& target) {
  const std::string_view name = target.name;
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  std::size_t number = 0;
  for (const char digit : name.substr(digits)) number = 10 * number + static_cast<std::size_t>(digit - '0');
  return {name.substr(0, digits), number};
}

}  // namespace

std::span<const TargetDesc* const> all_targets() {
  static const auto kTargets = [] {
    std::vector<const TargetDesc*> all{&xnnpack::desc()};
    for (const TargetDesc& desc : ethos_u::descs()) all.push_back(&desc);
    std::ranges::sort(all, [](const TargetDesc* a, const TargetDesc* b) { return key_of(*a) < key_of(*b); });
    return all;
  }();
  return kTargets;
}

const TargetDesc* find_target(std::string_view name) {
  const auto found = std::ranges::find(all_targets(), name, &TargetDesc::name);
  return found == all_targets().end() ? nullptr : *found;
}

const TargetDesc& local_float_target() { return xnnpack::desc(); }

Expected<xnnpack::TappedRuntime> build_float_segment(const Graph& graph, const Segment& segment) {
  return xnnpack::tapped(graph, segment);
}

std::span<const FinishingStep* const> all_finishing_steps() {
  static const auto kSteps = [] {
    std::vector<const FinishingStep*> all;
    for (const TargetDesc* target : all_targets()) {
      const bool is_new = target->finish != nullptr && std::ranges::find(all, target->finish) == all.end();
      if (is_new) all.push_back(target->finish);
    }
    return all;
  }();
  return kSteps;
}

}  // namespace isthmus
