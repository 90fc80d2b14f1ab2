// Laws that every plan of every graph keeps, each derived anew from the graph and the ranges.
#pragma once

#include <functional>
#include <string>

#include "quantize/apply/apply.h"
#include "quantize/plan/plan.h"

namespace isthmus::test {

// All that a plan decides, with values called by their names and sorted by them: two plans decide the same where their
// words are the same. `name` calls them otherwise.
std::string decisions(const Graph& graph, const QuantPlan& plan,
                      const std::function<std::string(ValueId)>& name = nullptr);

// The first tie of the plan's nodes that neither a group nor a cut answers for; empty where there is none.
std::string broken_tie(const Graph& graph, const QuantPlan& plan, const TargetDesc& target);

// The first cut for precision that no reader would miss: without it no reader outside of the joined group would lose
// `cut_bits`. Empty where there is none.
std::string removable_cut(const Graph& graph, const QuantPlan& plan, const TargetDesc& target,
                          const QuantConfig& config);

// The first reader outside of its value's group that loses `cut_bits` by sharing although a tie could be cut; empty
// where there is none.
std::string hurt_reader(const Graph& graph, const QuantPlan& plan, const TargetDesc& target, const QuantConfig& config);

// The first node of the quantized graph that must share and has data whose parameters are not those of its result;
// empty where there is none.
std::string unequal_tie(const Graph& quantized, const TargetDesc& target);

// Every node of the quantized graph with its types, its sources instead of its names, sorted: the same for graphs that
// compute the same in any order.
std::string computations(const Graph& model, const Quantized& quantized);

}  // namespace isthmus::test
