// Everything is wide until somebody objects, and then whatever depends on that.
#include "quantize/widths.h"

#include <utility>
#include <variant>

#include "base/union_find.h"
#include "quantize/front.h"
#include "quantize/pins.h"

namespace isthmus {
namespace {

constexpr DType kNarrow = DType::kI8;
constexpr DType kWide = DType::kI16;

class WidthChooser {
 public:
  WidthChooser(const Graph& graph, const IntegerRules& rules, const std::vector<Precision>& precision,
               const std::vector<NodeSettings>& settings, const QuantConfig& config)
      : graph_(graph),
        rules_(rules),
        precision_(precision),
        settings_(settings),
        config_(config),
        is_front_(front_layers(graph, config.inputs == BorderType::kFloat ? config.front : 0)),
        sets_(graph.values().size()),
        is_narrow_(graph.values().size(), false),
        readers_for_(graph.values().size()) {}

  std::vector<bool> are_wide() {
    join_sharing();
    object_at_border();
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      if (precision_[n] == Precision::kCodes) object_at_node(n);
    }
    while (!objections_.empty()) {
      const std::uint32_t set = objections_.back();
      objections_.pop_back();
      for (const std::uint32_t read : std::exchange(readers_for_[set], {})) object(ValueId{read});
    }
    std::vector<bool> result;
    for (std::uint32_t i = 0; i < graph_.values().size(); ++i) result.push_back(!is_narrow_[sets_.find(i)]);
    return result;
  }

 private:
  bool is_data(const Node& node, std::size_t i) const {
    return is_data_input(node.op, i) && graph_.constant(node.inputs[i]) == nullptr;
  }
  void object(ValueId id) {
    const std::uint32_t set = sets_.find(id.index);
    if (is_narrow_[set]) return;
    is_narrow_[set] = true;
    objections_.push_back(set);
  }

  void join_sharing() {
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      if (precision_[n] != Precision::kCodes || !must_share(rules_, node.op)) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (is_data(node, i)) sets_.join(node.inputs[i].index, node.outputs[0].index);
      }
    }
  }

  void object_at_border() {
    if (config_.inputs != BorderType::kFloat) {
      for (const ValueId input : graph_.inputs()) object(input);
    }
    if (config_.outputs == BorderType::kFloat) return;
    for (const Output& output : graph_.outputs()) {
      if (const auto* id = std::get_if<ValueId>(&output.value)) object(*id);
    }
  }

  void object_at_node(std::size_t n) {
    const Node& node = graph_.nodes()[n];
    const ValueId result = node.outputs[0];
    const auto refuses = [&](DType data, DType made) {
      return rules_.refusal(graph_, node, CodeTypes(data, made)).has_value();
    };
    if (settings_[n].is_storage_given) object(result);
    if (must_share(rules_, node.op)) {
      if (refuses(kWide, kWide)) object(result);
      return;
    }
    const WideReads reads = is_front_[n] ? WideReads::kAlways : rules_.wide_reads(node);
    if (refuses(kNarrow, kWide)) object(result);
    const bool can_read = reads != WideReads::kNever && !refuses(kWide, kWide) && !refuses(kWide, kNarrow);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_data(node, i)) continue;
      if (!can_read) {
        object(node.inputs[i]);
      } else if (reads == WideReads::kForWide) {
        readers_for_[sets_.find(result.index)].push_back(node.inputs[i].index);
      }
    }
  }

  const Graph& graph_;
  const IntegerRules& rules_;
  const std::vector<Precision>& precision_;
  const std::vector<NodeSettings>& settings_;
  const QuantConfig& config_;
  std::vector<bool> is_front_;
  UnionFind sets_;                                       // of values that share parameters
  std::vector<bool> is_narrow_;                          // by root
  std::vector<std::vector<std::uint32_t>> readers_for_;  // by root: what is wide only if that is
  std::vector<std::uint32_t> objections_;                // roots whose readers are still to be told
};

}  // namespace

std::vector<DType> choose_widths(const Graph& graph, const BackendDesc& backend,
                                 const std::vector<Precision>& precision, const std::vector<NodeSettings>& settings,
                                 const QuantConfig& config) {
  std::vector<DType> widths(graph.values().size(), config.storage);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    for (const ValueId output : graph.nodes()[n].outputs) widths[output.index] = settings[n].storage;
  }
  const PinnedFlow pinned = pinned_flow(graph);
  for (const ValueId input : graph.inputs()) {
    widths[input.index] = pinned.storage[input.index].value_or(config.storage);
  }
  if (!config.wide || config.storage != kNarrow || backend.integers.wide_reads == nullptr) return widths;
  const std::vector<bool> are_wide = WidthChooser(graph, backend.integers, precision, settings, config).are_wide();
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (are_wide[i]) widths[i] = kWide;
  }
  return widths;
}

}  // namespace isthmus
