// The options of commands that prepare a model for a target.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "session/open_model.h"
#include "session/prepare.h"

namespace isthmus {

struct ModelOptions {
  std::string file;
  std::string target;
  std::vector<std::string> shapes;
  std::optional<std::int64_t> batch;
  std::optional<std::int64_t> max_batch;
  std::vector<std::string> constants;
};

// MODEL, --target, --shape, --batch, --max-batch, --constant.
void add_model_options(CLI::App& command, ModelOptions& options);

// Takes names of targets and "cpu"; what else is given gets a message with the names that were probably meant.
CLI::Validator target_names();
inline constexpr const char* kTargetValidator = "target";  // its name

Expected<PrepareOptions> prepare_options(const ModelOptions& options);

// --constant alone, for commands without the others.
void add_constant_option(CLI::App& command, std::vector<std::string>& constants);
// "sr=16000", "bounds=0,1"
Expected<std::map<std::string, std::vector<double>>> read_constants(const std::vector<std::string>& texts);

// What has to be known before the model is loaded.
Expected<InputRequest> input_request(const ModelOptions& options);

// All cores.
std::size_t default_threads();

}  // namespace isthmus
