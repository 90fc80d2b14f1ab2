// The file of a sweep: which models, targets and configurations are compared.
//
//   targets = ["xnnpack", "ethos-u85-256"]
//   folder = "results"               # where points are kept; plan.sweep for plan.toml by default
//
//   [[model]]
//   file = "model.pt2"
//   calibrate = "calib.npz"          # as --calibrate; without it, the example inputs of the model
//   test = "test.npz"                # as --data of `eval`
//   labels = "labels.txt"            # as --labels of `eval`
//   name = "cnn"                     # the file's name without its ending by default
//   options = "--batch 1"            # words of `compile`, for this model
//
//   [[configuration]]
//   name = "int16"
//   options = "--activations int16"  # words of `compile`
//   targets = ["xnnpack"]            # where it is tried; all by default
//
// Paths are as on the command line: from the folder in which the command runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"

namespace isthmus {

struct SweepModel {
  std::string name, file, calibrate, test, labels, options;
};
struct SweepConfiguration {
  std::string name, options;
  std::vector<std::string> targets;  // empty: all
};

struct SweepPoint {
  std::string name;  // of its files
  SweepModel model;
  std::string target;
  SweepConfiguration configuration;
};

struct SweepPlan {
  std::string folder;
  std::vector<SweepPoint> points;  // by model, then target, then configuration, as the file has them
};

// Unknown keys and wrong values are errors that name the line. `path` also gives the folder where the text names none.
Expected<SweepPlan> read_plan(std::string_view text, const std::string& path);

}  // namespace isthmus
