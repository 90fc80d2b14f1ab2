// Hands TOSA graphs to vela, Arm's compiler for these devices, where it is installed.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/expected.h"
#include "formats/executorch/vela.h"
#include "targets/finish.h"

namespace isthmus::ethos_u {

struct VelaOptions {
  std::string program;      // its file
  std::string accelerator;  // as it names the device, which is as we do
  std::string config = "Arm/vela.ini";
  std::string system_config;
  std::string memory_mode;
  std::chrono::seconds timeout{3600};  // of one call
};

// With the system and memory that are usual for the target. Nothing where it compiles for no such target.
std::optional<VelaOptions> usual_vela_options(std::string_view target);

struct VelaResult {
  Blob stream;                             // for the delegate
  std::optional<vela::Estimate> estimate;  // where it gave one that can be read
};

// Its errors come with what it said, and with the operator that it names there.
Expected<VelaResult> run_vela(const Blob& tosa, const VelaOptions& options);

// The same as a step that targets name: the program is the one that was given, or else the one on PATH, if any.
extern const FinishingStep kVelaStep;

}  // namespace isthmus::ethos_u
