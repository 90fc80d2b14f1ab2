// What a run of a model did.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/states.h"

namespace isthmus {

struct RunSummary {
  struct Written {
    std::string name;
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::string file;
    std::size_t call = 0;
  };
  std::vector<Written> outputs;
  std::size_t calls = 1;
  std::vector<StateRow> states;
  std::size_t delegate_calls = 0;
  std::size_t host_calls = 0;
  std::size_t io_calls = 0;  // those host calls that quantize an input or dequantize an output of the model
};

std::string to_text(const RunSummary& summary);
std::string to_json(const RunSummary& summary);

}  // namespace isthmus
