// Lifetimes of tensors, from the instructions that name them.
#include "program/fit/planned_memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace isthmus::fit {
namespace {

struct Life {
  std::size_t first = 0, last = 0;
};

class Lives {
 public:
  explicit Lives(const pte::Plan& plan) : plan_(plan), lives_(plan.values.size()) {
    for (const pte::ValueIndex input : plan.inputs) touch(input, 0);
    std::size_t now = 0;
    for (const pte::Chain& chain : plan.chains) {
      for (const pte::Instruction& instruction : chain.instructions) {
        ++now;
        if (const auto* call = std::get_if<pte::KernelCall>(&instruction)) touch_all(call->args, now);
        if (const auto* call = std::get_if<pte::DelegateCall>(&instruction)) touch_all(call->args, now);
        if (const auto* call = std::get_if<pte::MoveCall>(&instruction)) {
          touch(call->from, now);
          touch(call->to, now);
        }
      }
    }
    count_ = now + 2;
    for (const pte::ValueIndex output : plan.outputs) touch(output, now + 1);
    for (pte::ValueIndex i = 0; i < plan.values.size(); ++i) {
      const auto* tensor = std::get_if<pte::Tensor>(&plan.values[i]);
      if (tensor == nullptr || !tensor->is_state()) continue;
      touch(i, 0);
      touch(i, now + 1);
    }
  }

  const std::optional<Life>& of(pte::ValueIndex value) const { return lives_[value]; }
  std::size_t count() const { return count_; }  // of moments: before all instructions, each of them, after all

 private:
  void touch(pte::ValueIndex value, std::size_t now) {
    if (const auto* list = std::get_if<pte::TensorList>(&plan_.values[value])) touch_all(list->items, now);
    if (!lives_[value]) lives_[value] = Life{now, now};
    lives_[value]->last = std::max(lives_[value]->last, now);
  }
  void touch_all(const std::vector<pte::ValueIndex>& values, std::size_t now) {
    for (const pte::ValueIndex value : values) touch(value, now);
  }

  const pte::Plan& plan_;
  std::vector<std::optional<Life>> lives_;
  std::size_t count_ = 0;
};

std::string role_of(const pte::Plan& plan, pte::ValueIndex value) {
  const auto place = [&](const std::vector<pte::ValueIndex>& list) {
    return static_cast<std::size_t>(std::ranges::find(list, value) - list.begin());
  };
  if (const std::size_t i = place(plan.inputs); i < plan.inputs.size()) return fmt::format("input_{}", i);
  if (const std::size_t i = place(plan.outputs); i < plan.outputs.size()) return fmt::format("output_{}", i);
  return std::get<pte::Tensor>(plan.values[value]).is_state() ? "state" : "";
}

PlannedMemory memory_of(const pte::Plan& plan, const Lives& lives, std::uint32_t id) {
  PlannedMemory result;
  result.id = id;
  result.bytes = static_cast<std::uint64_t>(plan.buffer_sizes[id]);
  std::vector<pte::ValueIndex> values;
  for (pte::ValueIndex i = 0; i < plan.values.size(); ++i) {
    const auto* tensor = std::get_if<pte::Tensor>(&plan.values[i]);
    if (tensor != nullptr && tensor->allocation && tensor->allocation->memory_id == id && lives.of(i))
      values.push_back(i);
  }
  const auto tensor_of = [&](pte::ValueIndex value) -> const pte::Tensor& {
    return std::get<pte::Tensor>(plan.values[value]);
  };
  const auto bytes_of = [&](pte::ValueIndex value) { return *pte::byte_count(tensor_of(value)); };
  // By moment: what begins to live and what has ended.
  std::vector<std::vector<pte::ValueIndex>> begins(lives.count()), ends(lives.count());
  for (const pte::ValueIndex value : values) {
    begins[lives.of(value)->first].push_back(value);
    ends[lives.of(value)->last].push_back(value);
  }
  // By offset: views of one place count once, as the largest of them.
  std::map<std::uint64_t, std::multiset<std::uint64_t>> alive;
  std::uint64_t sum = 0;
  std::size_t moment = 0;
  const auto change = [&](pte::ValueIndex value, bool is_added) {
    std::multiset<std::uint64_t>& here = alive[tensor_of(value).allocation->offset];
    sum -= here.empty() ? 0 : *here.rbegin();
    if (is_added) {
      here.insert(bytes_of(value));
    } else {
      here.erase(here.find(bytes_of(value)));
    }
    sum += here.empty() ? 0 : *here.rbegin();
  };
  for (std::size_t now = 0; now < lives.count(); ++now) {
    for (const pte::ValueIndex value : begins[now]) change(value, true);
    if (sum > result.min) {
      result.min = sum;
      moment = now;
    }
    for (const pte::ValueIndex value : ends[now]) change(value, false);
  }
  result.instruction = moment == 0 ? 0 : std::min(moment, lives.count() - 2) - 1;
  std::map<std::uint64_t, pte::ValueIndex> peak;
  for (const pte::ValueIndex value : values) {
    if (lives.of(value)->first > moment || lives.of(value)->last < moment) continue;
    const auto [found, is_new] = peak.try_emplace(tensor_of(value).allocation->offset, value);
    if (!is_new && bytes_of(value) > bytes_of(found->second)) found->second = value;
  }
  for (const auto& [offset, value] : peak) {
    const pte::Tensor& tensor = tensor_of(value);
    result.peak.push_back({value, role_of(plan, value),
                           fmt::format("{}[{}]", name_of(tensor.dtype), fmt::join(tensor.sizes, ",")),
                           bytes_of(value)});
  }
  std::ranges::stable_sort(result.peak, std::ranges::greater(), &PlannedTensor::bytes);
  return result;
}

}  // namespace

std::vector<PlannedMemory> planned_memory(const pte::Plan& plan) {
  const Lives lives(plan);
  std::vector<PlannedMemory> result;
  for (std::uint32_t id = 1; id < plan.buffer_sizes.size(); ++id) result.push_back(memory_of(plan, lives, id));
  return result;
}

}  // namespace isthmus::fit
