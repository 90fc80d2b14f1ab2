// Hands TOSA graphs to vela, Arm's compiler for these devices, where it is installed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/expected.h"
#include "formats/vela.h"

namespace isthmus::ethos_u {

inline constexpr std::string_view kVelaBackend = "EthosUBackend";  // of delegates that hold its stream

struct VelaOptions {
  std::string program;      // its file
  std::string accelerator;  // as it names the device, which is as we do
  std::string config = "Arm/vela.ini";
  std::string system_config;
  std::string memory_mode;
};

// With the system and memory that are usual for the target. Nothing where it compiles for no such target.
std::optional<VelaOptions> usual_vela_options(std::string_view target);

struct VelaResult {
  Blob stream;                             // for the delegate
  std::optional<vela::Estimate> estimate;  // where it gave one that can be read
};

// Its errors come with what it said, and with the operator that it names there.
Expected<VelaResult> run_vela(const Blob& tosa, const VelaOptions& options);

}  // namespace isthmus::ethos_u
