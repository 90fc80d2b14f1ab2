// Rates as Vela 5.1.0 estimates them, over the operators of whole models; weights lie where Vela's usual memory modes
// have them: in flash behind a U55, in DRAM behind a U65, in SRAM beside a U85.
#include "targets/ethos_u/cost_table.h"

#include <algorithm>
#include <iterator>

namespace isthmus::ethos_u {
namespace {

using Rates = std::array<Rate, static_cast<std::size_t>(CostKind::kCount)>;

//                       wide       wide mul   mul       add        simple     table       rescale    copy     transpose
//                       sum         extreme
constexpr Rates kU55 = {{{1.35, 30},
                         {1.05, 30},
                         {1.0, 30},
                         {1.5, 30},
                         {0.75, 30},
                         {1.1, 1050},
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
                         {0.5, 10},
                         {0.75, 10},
                         {0.85, 60},
                         {0.5, 200},
                         {0.3, 200},
                         {0.4, 300}}};

constexpr Machine kMachines[] = {
    {.target = "ethos-u55-32",
     .macs = 32,
     .lanes_across = 1,
     .lanes_deep = 4,
     .elementwise = 2.7,
     .weight_bytes = 1,
     .product = 3.2,
     .steps_of_4 = 6,
     .steps_of_5 = 14,
     .rates = kU55},
    {.target = "ethos-u55-64",
     .macs = 64,
     .lanes_across = 1,
     .lanes_deep = 8,
     .elementwise = 1.4,
     .weight_bytes = 1,
     .product = 1.8,
     .steps_of_4 = 6,
     .steps_of_5 = 14,
     .rates = kU55},
    {.target = "ethos-u55-128",
     .macs = 128,
     .lanes_across = 2,
     .lanes_deep = 8,
     .elementwise = 1,
     .weight_bytes = 1,
     .product = 1.25,
     .steps_of_4 = 6,
     .steps_of_5 = 14,
     .rates = kU55},
    {.target = "ethos-u55-256",
     .macs = 256,
     .lanes_across = 4,
     .lanes_deep = 8,
     .elementwise = 0.8,
     .weight_bytes = 1,
     .product = 1.05,
     .steps_of_4 = 6,
     .steps_of_5 = 14,
     .rates = kU55},
    {.target = "ethos-u65-256",
     .macs = 256,
     .lanes_across = 4,
     .lanes_deep = 8,
     .elementwise = 0.8,
     .weight_bytes = 3.75,
     .product = 1.05,
     .steps_of_4 = 6,
     .steps_of_5 = 14,
     .rates = kU55},
    {.target = "ethos-u65-512",
     .macs = 512,
     .lanes_across = 4,
     .lanes_deep = 16,
     .elementwise = 0.75,
     .weight_bytes = 3.75,
     .product = 0.8,
     .steps_of_4 = 6,
     .steps_of_5 = 14,
     .rates = kU55},
    {.target = "ethos-u85-128",
     .is_u85 = true,
     .macs = 128,
     .lanes_across = 2,
     .lanes_deep = 8,
     .elementwise = 2,
     .weight_bytes = 16,
     .product = 0.024,
     .steps_of_4 = 8,
     .steps_of_5 = 14,
     .rates = kU85},
    {.target = "ethos-u85-256",
     .is_u85 = true,
     .macs = 256,
     .lanes_across = 2,
     .lanes_deep = 16,
     .elementwise = 1,
     .weight_bytes = 16,
     .product = 0.012,
     .steps_of_4 = 8,
     .steps_of_5 = 14,
     .rates = kU85},
    {.target = "ethos-u85-512",
     .is_u85 = true,
     .macs = 512,
     .lanes_across = 4,
     .lanes_deep = 16,
     .elementwise = 0.75,
     .weight_bytes = 16,
     .product = 0.008,
     .steps_of_4 = 8,
     .steps_of_5 = 14,
     .rates = kU85},
    {.target = "ethos-u85-1024",
     .is_u85 = true,
     .macs = 1024,
     .lanes_across = 4,
     .lanes_deep = 32,
     .elementwise = 0.6,
     .weight_bytes = 16,
     .product = 0.005,
     .steps_of_4 = 8,
     .steps_of_5 = 14,
     .rates = kU85},
    {.target = "ethos-u85-2048",
     .is_u85 = true,
     .macs = 2048,
     .lanes_across = 4,
     .lanes_deep = 64,
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
