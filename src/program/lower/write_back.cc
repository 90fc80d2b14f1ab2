// Looks for calls that can write to the place itself.
#include "program/lower/write_back.h"

#include <algorithm>

namespace isthmus {
namespace {

std::vector<pte::ValueIndex>* arguments_of(pte::Instruction& instruction) {
  if (auto* call = std::get_if<pte::KernelCall>(&instruction)) return &call->args;
  if (auto* call = std::get_if<pte::DelegateCall>(&instruction)) return &call->args;
  return nullptr;
}

class InPlace {
 public:
  InPlace(pte::Plan& plan, const std::vector<WriteBack>& writes) : plan_(plan), writes_(writes) {}

  bool can(const WriteBack& write) {
    if (write.place == write.written || !is_like(write) || is_elsewhere(write.written)) return false;
    const auto maker = first_use(write.written, 0);
    return maker < instructions().size() && first_use(write.place, maker) == instructions().size();
  }
  void move(const WriteBack& write) {
    for (pte::Instruction& instruction : instructions()) {
      if (auto* args = arguments_of(instruction)) std::ranges::replace(*args, write.written, write.place);
    }
    for (pte::Value& value : plan_.values) {
      if (auto* list = std::get_if<pte::TensorList>(&value)) {
        std::ranges::replace(list->items, write.written, write.place);
      } else if (auto* some = std::get_if<pte::OptionalTensorList>(&value)) {
        std::ranges::replace(some->items, std::optional(write.written), std::optional(write.place));
      }
    }
    plan_.values[write.written] = pte::None{};
  }

 private:
  std::vector<pte::Instruction>& instructions() { return plan_.chains[0].instructions; }

  // Memory of the program, of the same type and size in every run.
  bool is_like(const WriteBack& write) const {
    const auto& place = std::get<pte::Tensor>(plan_.values[write.place]);
    const auto& written = std::get<pte::Tensor>(plan_.values[write.written]);
    return written.allocation && written.data_index == 0 && place.dtype == written.dtype &&
           place.sizes == written.sizes && place.dim_order == written.dim_order &&
           place.dynamism == pte::Dynamism::kStatic && written.dynamism == pte::Dynamism::kStatic;
  }
  // The caller's tensor, or the new value of another state as well.
  bool is_elsewhere(pte::ValueIndex value) const {
    const auto has = [&](const std::vector<pte::ValueIndex>& list) {
      return std::ranges::find(list, value) != list.end();
    };
    const auto is_its = [&](const WriteBack& write) { return write.written == value || write.place == value; };
    return has(plan_.inputs) || has(plan_.outputs) || std::ranges::count_if(writes_, is_its) != 1;
  }
  // The first instruction from `from` on that has the value among its arguments; their number where none has.
  std::size_t first_use(pte::ValueIndex value, std::size_t from) {
    for (std::size_t at = from; at < instructions().size(); ++at) {
      const auto* args = arguments_of(instructions()[at]);
      const bool is_there =
          args != nullptr && std::ranges::any_of(*args, [&](pte::ValueIndex arg) { return shows(arg, value); });
      if (is_there) return at;
    }
    return instructions().size();
  }
  bool shows(pte::ValueIndex arg, pte::ValueIndex value) const {
    if (const auto* list = std::get_if<pte::TensorList>(&plan_.values[arg])) {
      return std::ranges::find(list->items, value) != list->items.end();
    }
    if (const auto* some = std::get_if<pte::OptionalTensorList>(&plan_.values[arg])) {
      return std::ranges::find(some->items, std::optional(value)) != some->items.end();
    }
    return arg == value;
  }

  pte::Plan& plan_;
  const std::vector<WriteBack>& writes_;
};

}  // namespace

std::vector<WriteBack> make_in_place(pte::Plan& plan, const std::vector<WriteBack>& writes) {
  InPlace in_place(plan, writes);
  std::vector<WriteBack> left;
  for (const WriteBack& write : writes) {
    if (in_place.can(write)) {
      in_place.move(write);
    } else {
      left.push_back(write);
    }
  }
  return left;
}

}  // namespace isthmus
