// Which part of a work this process is, as schedulers tell it by variables of the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/expected.h"
#include "shard/shard.h"

namespace isthmus {

// The value of a variable.
using Environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> environment_variable(const char* name);

struct ScheduledShard {
  Shard shard;
  std::string variables;  // that say so
};

// Jobs of an array (Slurm, Kubernetes) times processes of a job (Open MPI, Slurm). `count` is how many parts there are,
// where the user says it: Kubernetes does not. Nothing where no scheduler runs several of these.
Expected<std::optional<ScheduledShard>> scheduled_shard(const Environment& environment,
                                                        std::optional<std::uint32_t> count);

// How many processes of the same work share this machine, as far as the scheduler says it.
std::uint32_t processes_beside(const Environment& environment);

}  // namespace isthmus
