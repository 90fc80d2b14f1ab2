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
    {"ethos-u55-32", false, 32, 1, 4, 2.7, 1, 3.2, 6, 14, kU55},
    {"ethos-u55-64", false, 64, 1, 8, 1.4, 1, 1.8, 6, 14, kU55},
    {"ethos-u55-128", false, 128, 2, 8, 1, 1, 1.25, 6, 14, kU55},
    {"ethos-u55-256", false, 256, 4, 8, 0.8, 1, 1.05, 6, 14, kU55},
    {"ethos-u65-256", false, 256, 4, 8, 0.8, 3.75, 1.05, 6, 14, kU55},
    {"ethos-u65-512", false, 512, 4, 16, 0.75, 3.75, 0.8, 6, 14, kU55},
    {"ethos-u85-128", true, 128, 2, 8, 2, 16, 0.024, 8, 14, kU85},
    {"ethos-u85-256", true, 256, 2, 16, 1, 16, 0.012, 8, 14, kU85},
    {"ethos-u85-512", true, 512, 4, 16, 0.75, 16, 0.008, 8, 14, kU85},
    {"ethos-u85-1024", true, 1024, 4, 32, 0.6, 16, 0.005, 8, 14, kU85},
    {"ethos-u85-2048", true, 2048, 4, 64, 0.35, 16, 0.003, 8, 14, kU85},
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
