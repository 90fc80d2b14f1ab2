// How many CPUs this process may use.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

namespace isthmus {

// What the affinity mask and the CPU quota of the control groups leave of the machine's CPUs: as many threads can run
// at the same time. At least 1.
std::size_t available_cpus();

// The CPUs that the quotas of this process's control groups amount to, of version 1 or 2; nothing where there is none.
// `root` holds proc/self/cgroup and sys/fs/cgroup.
std::optional<double> cgroup_cpus(const std::filesystem::path& root);

// The rule: whole CPUs of the quota, no more than the mask has, and one at least.
std::size_t usable_cpus(std::size_t in_mask, std::optional<double> quota);

// How long the calling thread has been ready to run while others had the CPU, since it was started; nothing where the
// system does not say.
std::optional<double> seconds_without_cpu();

}  // namespace isthmus
