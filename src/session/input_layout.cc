// Reads what a user says about the order of axes in memory.
#include "session/input_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace isthmus {

Expected<std::vector<Order>> input_orders(const Graph& graph, const std::vector<std::string>& words) {
  std::vector<Order> orders;
  std::vector<std::string_view> names;
  for (const ValueId input : graph.inputs()) {
    orders.push_back(row_major(graph.type(input).rank()));
    names.push_back(graph[input].name);
  }
  const Order channels_first = row_major(kChannelsLast.size());
  for (const std::string& word : words) {
    const auto refuse = [&](const std::string& why) {
      return bad_input(fmt::format("--input-layout {}: {}", word, why));
    };
    const std::size_t equals = word.find('=');
    const std::string name = equals == std::string::npos ? "" : word.substr(0, equals);
    const std::string layout = equals == std::string::npos ? word : word.substr(equals + 1);
    if (layout != "nhwc" && layout != "nchw") return refuse("expected nhwc or nchw, or NAME=nhwc or NAME=nchw");
    bool is_used = false;
    for (std::size_t i = 0; i < orders.size(); ++i) {
      const bool is_meant = equals == std::string::npos || name == names[i] || name == fmt::format("input_{}", i);
      if (!is_meant) continue;
      if (orders[i].size() == kChannelsLast.size()) {
        orders[i] = layout == "nhwc" ? kChannelsLast : channels_first;
        is_used = true;
      } else if (equals != std::string::npos) {
        return refuse(fmt::format("it has {} axes, an image has 4", orders[i].size()));
      }
    }
    if (is_used) continue;
    if (equals == std::string::npos) return refuse("no input has 4 axes");
    return refuse(fmt::format("no such input; the model has {}", fmt::join(names, ", ")));
  }
  return orders;
}

}  // namespace isthmus
