// A twelfth of a squared step, for each rounding.
#include "fidelity/rounding.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace isthmus::fidelity {
namespace {

constexpr double kOfStep = 1.0 / 12;

bool is_integer(const anatomy::Value& value) { return !value.dtype.starts_with('f'); }

// Noise to signal of constants in 8 bits.
double of_weights(const anatomy::Value& value) {
  if (!value.data || !is_integer(value) || value.data->size() == 0) return 0;
  std::int64_t elements = 1;
  for (const std::int64_t size : value.sizes) elements *= size;
  const auto bytes = value.data->bytes();
  if (static_cast<std::uint64_t>(elements) != bytes.size()) return 0;  // of other widths
  double power = 0;
  for (const std::byte byte : bytes) {
    const auto number = static_cast<double>(static_cast<std::int8_t>(byte));
    power += number * number;
  }
  return power == 0 ? 0 : kOfStep * static_cast<double>(bytes.size()) / power;
}

// The same of a value of a run: its variance counts, as a sum over it is what is mostly made of it.
double of_value(std::span<const float> numbers, double step) {
  double sum = 0, squares = 0;
  for (const float number : numbers) {
    sum += static_cast<double>(number);
    squares += static_cast<double>(number) * static_cast<double>(number);
  }
  const auto count = static_cast<double>(numbers.size());
  const double variance = squares / count - sum / count * (sum / count);
  return variance <= 0 ? 0 : std::min(1.0, kOfStep * step * step / variance);
}

}  // namespace

std::vector<std::uint32_t> nodes_behind(const anatomy::Graph& program,
                                        std::span<const std::optional<std::uint32_t>> makers,
                                        std::span<const std::uint32_t> front, std::uint32_t node) {
  std::set<std::uint32_t> nodes;
  std::vector<std::uint32_t> todo{node};
  while (!todo.empty()) {
    const std::uint32_t at = todo.back();
    todo.pop_back();
    if (!nodes.insert(at).second) continue;
    for (const std::uint32_t input : program.nodes[at].inputs) {
      if (makers[input] && std::ranges::find(front, input) == front.end()) todo.push_back(*makers[input]);
    }
  }
  return {nodes.begin(), nodes.end()};
}

double relative_rounding(const Roundings& known, std::span<const std::uint32_t> front, std::uint32_t node) {
  double relative = 0;
  for (const std::uint32_t index : nodes_behind(known.program, known.makers, front, node)) {
    for (const std::uint32_t input : known.program.nodes[index].inputs) {
      if (known.program.values[input].is_constant) relative += of_weights(known.program.values[input]);
    }
    if (index == node) continue;
    for (const std::uint32_t output : known.program.nodes[index].outputs) {
      const std::vector<float>& numbers = known.runs[0].program[output];
      if (numbers.empty() || !is_integer(known.program.values[output])) continue;
      relative += of_value(numbers, known.readings[output].scale);
    }
  }
  return relative;
}

double own_rounding(const Roundings& known, std::uint32_t value, const Holding& holding, std::size_t count) {
  if (!is_integer(known.program.values[value])) return 0;
  double steps = 0;
  for (const float factor : holding.factors) {
    const double step = known.readings[value].scale / static_cast<double>(factor);
    steps += step * step;
  }
  return kOfStep * steps / static_cast<double>(holding.factors.size()) * static_cast<double>(count);
}

}  // namespace isthmus::fidelity
