// Where a program departs from the model that it was made from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"
#include "calibrate/samples.h"
#include "interpret/tensor.h"
#include "ir/graph.h"
#include "program/anatomy/anatomy.h"
#include "program/anatomy/event.h"

namespace isthmus::fidelity {

// Error against signal, added up.
struct Powers {
  double signal = 0, noise = 0;
  bool is_finite = true;

  void add(std::span<const float> wanted, std::span<const float> found);
  double db() const;  // infinite where there is no noise
};

// A value of the program that holds one of the model's.
struct Step {
  std::uint32_t node = 0;   // of the program, that makes it
  std::uint32_t value = 0;  // of the program
  ValueId model;
  Powers total;                     // against the model's numbers
  std::optional<Powers> own;        // against what the model makes of the program's numbers before it
  double rounding = 0;              // the noise that rounding explains, of `own`
  double here = 0;                  // of a step of a device: the noise that the same step of this machine has
  std::optional<double> before_db;  // the least of what is before it; nothing: inputs of the model alone
  bool is_output = false;
};

// The first node that does something else than its counterpart, beyond what rounding explains.
struct Departure {
  std::uint32_t node = 0;              // of the program
  std::size_t step = 0;                // that shows it
  std::vector<std::uint32_t> between;  // the nodes of the program that are in question, in order, `node` among them
  bool moves_elements = false;         // to other places than the model's
  std::optional<ValueId> counterpart;  // of the model
  std::optional<Step> own;             // of the node itself, where it still resembles its counterpart
};

struct Verification {
  std::vector<Step> steps;  // in the order of the program
  std::optional<Departure> departure;
  std::vector<std::size_t> losses;  // steps, by what they cost the outputs: the worst first
  std::vector<double> outputs;      // dB
  std::size_t samples = 0;
  std::size_t values = 0;   // that nodes of the program make
  std::size_t unseen = 0;   // of these: nothing shows them
  std::size_t unknown = 0;  // of those that are seen: hold no value of the model
};

// Runs the program and shows what it makes.
using RunShown =
    std::function<Expected<std::vector<std::optional<Tensor>>>(std::span<const Tensor>, const anatomy::Show&)>;

// What a device left of the first sample, by value of the program. Its steps depart where they lose more than those of
// this machine.
using Dump = std::vector<std::optional<Tensor>>;

struct Options {
  std::size_t max_samples = 8;
  const Dump* dump = nullptr;  // is compared instead of what the program makes here, which still tells what is what
  std::function<void(double fraction)> progress = {};
};

// The model is in float and canonical.
Expected<Verification> examine(const anatomy::Graph& program, const RunShown& run, const Graph& model, Samples& samples,
                               const Options& options);

}  // namespace isthmus::fidelity
