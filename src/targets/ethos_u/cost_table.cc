// Rates as Vela 5.1.0 estimates them, over the operators of whole models; weights lie where Vela's usual memory modes
// have them: in flash behind a U55, in DRAM behind a U65, in SRAM beside a U85.
#include "targets/ethos_u/cost_table.h"

#include <algorithm>
#include <iterator>

namespace isthmus::ethos_u {
namespace {

using Rates = std::array<Rate, static_cast<std::size_t>(CostKind::kCount)>;

//                       wide       wide mul   mul       add        simple     table       rescale    wide      copy
//                       transpose  sum         extreme
constexpr Rates kU55 = {{{1.35, 30},
                         {1.05, 30},
                         {1.0, 30},
                         {1.5, 30},
                         {0.75, 30},
                         {1.1, 1050},
                         {1.07, 60},
                         {1.3, 30},
                         {1.05, 60},
                         {0.6, 60},
                         {0.4, 300},
                         {0.75, 300}}};
constexpr Rates kU85 = {{{0.45, 10},
                         {0.6, 10},
                         {0.35, 10},
                         {0.25, 10},
                         {0.3, 10},
                         {0.5, 1500},
                         {0.65, 10},
                         {2.3, 10},
                         {0.85, 60},
                         {0.5, 200},
                         {0.3, 200},
                         {0.4, 300}}};

constexpr Machine kMachines[] = {
    {.target = "ethos-u55-32",
     .units = {{{1, 1, 4}, {1, 1, 4}}},
     .unit_by_channel = {1, 1, 4},
     .made = 2,
     .made_clamped = 2,
     .made_wide = 3,
     .elementwise = 2.7,
     .weight_bytes = 1,
     .product = 3.2,
     .steps_of_4 = 6,
     .steps_of_5 = 14,
     .rates = kU55},
    {.target = "ethos-u55-64",
     .units = {{{1, 1, 8}, {1, 1, 8}}},
     .unit_by_channel = {1, 1, 8},
     .made = 1,
     .made_clamped = 1,
     .made_wide = 1.5,
     .elementwise = 1.4,
     .weight_bytes = 1,
     .product = 1.8,
     .steps_of_4 = 6,
     .steps_of_5 = 14,
     .rates = kU55},
    {.target = "ethos-u55-128",
     .units = {{{1, 2, 8}, {1, 2, 8}}},
     .unit_by_channel = {1, 2, 8},
     .made = 1,
     .made_clamped = 0.5,
     .made_wide = 1,
     .elementwise = 1,
     .weight_bytes = 1,
     .product = 1.25,
     .steps_of_4 = 6,
     .steps_of_5 = 14,
     .rates = kU55},
    {.target = "ethos-u55-256",
     .units = {{{2, 2, 8}, {2, 2, 8}}},
     .unit_by_channel = {2, 2, 8},
     .made = 1,
     .made_clamped = 0.25,
     .made_wide = 1,
     .elementwise = 0.8,
     .weight_bytes = 1,
     .product = 1.05,
     .steps_of_4 = 6,
     .steps_of_5 = 14,
     .rates = kU55},
    {.target = "ethos-u65-256",
     .units = {{{2, 2, 8}, {2, 2, 8}}},
     .unit_by_channel = {2, 2, 8},
     .made = 1,
     .made_clamped = 0.25,
     .made_wide = 1,
     .elementwise = 0.8,
     .weight_bytes = 3.75,
     .product = 1.05,
     .steps_of_4 = 6,
     .steps_of_5 = 14,
     .rates = kU55},
    {.target = "ethos-u65-512",
     .cores = 2,
     .units = {{{2, 2, 8}, {2, 2, 8}}},
     .unit_by_channel = {2, 2, 8},
     .made = 0.5,
     .made_clamped = 0.125,
     .made_wide = 0.5,
     .elementwise = 0.75,
     .weight_bytes = 3.75,
     .product = 0.8,
     .steps_of_4 = 6,
     .steps_of_5 = 14,
     .rates = kU55},
    {.target = "ethos-u85-128",
     .is_u85 = true,
     .units = {{{1, 2, 8}, {1, 2, 8}}},
     .unit_by_channel = {1, 1, 16},
     .made = 0.5,
     .made_clamped = 0.5,
     .made_wide = 0.5,
     .elementwise = 2,
     .weight_bytes = 16,
     .product = 0.024,
     .steps_of_4 = 8,
     .steps_of_5 = 14,
     .rates = kU85},
    {.target = "ethos-u85-256",
     .is_u85 = true,
     .units = {{{2, 2, 8}, {1, 4, 8}}},
     .unit_by_channel = {1, 2, 16},
     .made = 0.25,
     .made_clamped = 0.25,
     .made_wide = 0.25,
     .elementwise = 1,
     .weight_bytes = 16,
     .product = 0.012,
     .steps_of_4 = 8,
     .steps_of_5 = 14,
     .rates = kU85},
    {.target = "ethos-u85-512",
     .is_u85 = true,
     .cores = 2,
     .units = {{{2, 2, 16}, {1, 4, 16}}},
     .unit_by_channel = {2, 2, 16},
     .made = 0.125,
     .made_clamped = 0.125,
     .made_wide = 0.125,
     .elementwise = 0.75,
     .weight_bytes = 16,
     .product = 0.008,
     .steps_of_4 = 8,
     .steps_of_5 = 14,
     .rates = kU85},
    {.target = "ethos-u85-1024",
     .is_u85 = true,
     .cores = 4,
     .units = {{{2, 2, 32}, {1, 4, 32}}},
     .unit_by_channel = {2, 4, 16},
     .made = 0.0625,
     .made_clamped = 0.0625,
     .made_wide = 0.125,
     .elementwise = 0.6,
     .weight_bytes = 16,
     .product = 0.005,
     .steps_of_4 = 8,
     .steps_of_5 = 14,
     .rates = kU85},
    {.target = "ethos-u85-2048",
     .is_u85 = true,
     .cores = 4,
     .units = {{{2, 2, 64}, {1, 4, 64}}},
     .unit_by_channel = {4, 4, 16},
     .made = 0.03125,
     .made_clamped = 0.03125,
     .made_wide = 0.0625,
     .elementwise = 0.35,
     .weight_bytes = 16,
     .product = 0.003,
     .steps_of_4 = 8,
     .steps_of_5 = 14,
     .rates = kU85},
};

}  // namespace

const Machine* find_machine(std::string_view target) {
  const auto found = std::ranges::find(kMachines, target, &Machine::target);
  return found == std::end(kMachines) ? nullptr : found;
}

const Machine* usual_machine(Device device) {
  switch (device) {
    case Device::kU55:
      return find_machine("ethos-u55-128");
    case Device::kU85:
      return find_machine("ethos-u85-256");
    case Device::kTosaInt:
      break;
  }
  return nullptr;
}

}  // namespace isthmus::ethos_u
