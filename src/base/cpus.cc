// The affinity mask, and the files of control groups.
#include "base/cpus.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace isthmus {
namespace {

std::size_t cpus_in_mask() {
  // Larger machines need a larger mask than cpu_set_t.
  for (std::size_t cpus = CPU_SETSIZE; cpus <= (std::size_t{1} << 20); cpus *= 4) {
    std::vector<cpu_set_t> mask(cpus / CPU_SETSIZE);
    const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, mask.data()) == 0) {
      return static_cast<std::size_t>(CPU_COUNT_S(bytes, mask.data()));
    }
  }
  return std::thread::hardware_concurrency();
}

// "max 100000" and -1 mean no quota.
std::optional<double> quotient(std::istream& quota_file, std::istream& period_file) {
  std::string quota;
  double period = 0;
  if (!(quota_file >> quota) || !(period_file >> period) || period <= 0) return std::nullopt;
  char* end = nullptr;
  const double time = std::strtod(quota.c_str(), &end);
  if (end == quota.c_str() || *end != '\0' || !(time > 0)) return std::nullopt;
  return time / period;
}

std::optional<double> quota_of(const std::filesystem::path& group) {
  std::ifstream both(group / "cpu.max");  // version 2
  if (both) return quotient(both, both);
  std::ifstream quota(group / "cpu.cfs_quota_us");
  std::ifstream period(group / "cpu.cfs_period_us");
  return quotient(quota, period);
}

// Of a group and all that it is in; inside a container the path of the group may be one of the host's, with only its
// last part or nothing of it there.
std::optional<double> min_quota(const std::filesystem::path& mount, std::filesystem::path group) {
  std::optional<double> min;
  while (true) {
    const std::filesystem::path place = group.empty() ? mount : mount / group;
    if (const auto quota = quota_of(place); quota && (!min || *quota < *min)) min = quota;
    if (group.empty()) return min;
    group = group.parent_path();
  }
}

}  // namespace

std::optional<double> cgroup_cpus(const std::filesystem::path& root) {
  std::ifstream groups(root / "proc/self/cgroup");
  std::optional<double> min;
  // "0::/system.slice/a.service", or "4:cpu,cpuacct:/docker/12ab"
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
    const std::filesystem::path group = std::filesystem::path(line.substr(second + 1)).relative_path();
    const std::filesystem::path mount = root / "sys/fs/cgroup";
    const std::vector<std::filesystem::path> mounts =
        controllers.empty() ? std::vector{mount} : std::vector{mount / controllers, mount / "cpu"};
    for (const std::filesystem::path& place : mounts) {
      if (const auto quota = min_quota(place, group); quota && (!min || *quota < *min)) min = quota;
    }
  }
  return min;
}

std::size_t usable_cpus(std::size_t in_mask, std::optional<double> quota) {
  std::size_t cpus = std::max<std::size_t>(in_mask, 1);
  if (quota && *quota < static_cast<double>(cpus)) cpus = static_cast<std::size_t>(std::floor(*quota));
  return std::max<std::size_t>(cpus, 1);
}

std::optional<double> seconds_without_cpu() {
  std::ifstream file("/proc/thread-self/schedstat");
  double running = 0;
  double waiting = 0;
  if (!(file >> running >> waiting)) return std::nullopt;
  return waiting * 1e-9;
}

std::size_t available_cpus() { return usable_cpus(cpus_in_mask(), cgroup_cpus("/")); }

}  // namespace isthmus
