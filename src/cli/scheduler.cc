// Tables of variables.
#include "cli/scheduler.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/untrusted_text.h"

namespace isthmus {
namespace {

// How one scheduler numbers what it runs; null where it has no such variable.
struct Numbering {
  const char* index;
  const char* count;
  const char* first;  // the number that the first one has, else 0
  const char* step;   // between numbers, else 1
  // What starts the processes has the numbers of one of them, and the first of these without the second.
  const char* job;
  const char* process;
};
constexpr Numbering kJobs[] = {
    {.index = "SLURM_ARRAY_TASK_ID",
     .count = "SLURM_ARRAY_TASK_COUNT",
     .first = "SLURM_ARRAY_TASK_MIN",
     .step = "SLURM_ARRAY_TASK_STEP",
     .job = nullptr,
     .process = nullptr},
    {.index = "JOB_COMPLETION_INDEX",
     .count = nullptr,
     .first = nullptr,
     .step = nullptr,
     .job = nullptr,
     .process = nullptr},
};
constexpr Numbering kProcesses[] = {
    {.index = "OMPI_COMM_WORLD_RANK",
     .count = "OMPI_COMM_WORLD_SIZE",
     .first = nullptr,
     .step = nullptr,
     .job = nullptr,
     .process = nullptr},
    {.index = "SLURM_PROCID",
     .count = "SLURM_NTASKS",
     .first = nullptr,
     .step = nullptr,
     .job = "SLURM_JOB_ID",
     .process = "SLURM_STEP_ID"},
};
constexpr const char* kBeside[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"};

Expected<std::optional<std::uint32_t>> number_in(const Environment& environment, const char* name) {
  if (name == nullptr) return std::nullopt;
  const auto text = environment(name);
  if (!text) return std::nullopt;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (text->empty() || error != std::errc() || end != text->data() + text->size()) {
    return bad_input(fmt::format("{}={} in the environment is not a number; give --shard i/n", name, shown(*text)));
  }
  return number;
}

struct Place {
  std::uint32_t id = 0;     // as the scheduler numbers it
  std::uint32_t index = 0;  // from 0 on
  std::optional<std::uint32_t> count;
  std::string variables;
};

Expected<std::optional<Place>> place_in(const Environment& environment, const Numbering& row) {
  if (row.job != nullptr && environment(row.job) && !environment(row.process)) return std::nullopt;
  const auto id = TRY(number_in(environment, row.index));
  if (!id) return std::nullopt;
  Place place{*id, *id, TRY(number_in(environment, row.count)), fmt::format("{}={}", row.index, *id)};
  if (row.count != nullptr && !place.count) return std::nullopt;
  const std::uint32_t first = TRY(number_in(environment, row.first)).value_or(0);
  const std::uint32_t step = TRY(number_in(environment, row.step)).value_or(1);
  if (*id < first || step == 0 || (*id - first) % step != 0) {
    return bad_input(
        fmt::format("{} in the environment does not follow from the first number {} and step {}; give --shard i/n",
                    place.variables, first, step));
  }
  place.index = (*id - first) / step;
  if (place.count) place.variables += fmt::format(" of {}={}", row.count, *place.count);
  return place;
}

template <std::size_t kRows>
Expected<std::optional<Place>> first_place(const Environment& environment, const Numbering (&rows)[kRows]) {
  for (const Numbering& row : rows) {
    if (auto place = TRY(place_in(environment, row))) return place;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Expected<std::optional<ScheduledShard>> scheduled_shard(const Environment& environment,
                                                        std::optional<std::uint32_t> count) {
  const auto job = TRY(first_place(environment, kJobs));
  const auto process = TRY(first_place(environment, kProcesses));
  if (!job && !process) return std::nullopt;
  std::string variables = job ? job->variables : "";
  if (process) variables += (job ? " and " : "") + process->variables;
  const std::uint64_t processes = process ? *process->count : 1;
  std::uint64_t jobs = job ? job->count.value_or(0) : 1;
  std::uint64_t index = job ? job->index : 0;
  if (count && jobs * processes != *count) {
    // Some jobs of an array that are run again have the numbers that they had when all were run.
    if (!job || *count % processes != 0) {
      return bad_input(fmt::format("--shards {} does not match {}", *count, variables));
    }
    jobs = *count / processes;
    index = job->id;
  }
  if (jobs == 0) {
    return bad_input(
        fmt::format("{}: the number of shards is unknown; give --shards with the completions of the job, or --shard "
                    "0/1 for all samples",
                    variables));
  }
  index = index * processes + (process ? process->index : 0);
  const auto shard = read_shard(fmt::format("{}/{}", index, jobs * processes));
  if (!shard) {
    return bad_input(fmt::format("{} in the environment is out of range for {} shards; give --shard i/n", variables,
                                 jobs * processes));
  }
  if (shard->count == 1) return std::nullopt;
  return ScheduledShard{*shard, std::move(variables)};
}

std::uint32_t processes_beside(const Environment& environment) {
  for (const char* name : kBeside) {
    const auto count = number_in(environment, name);
    if (count && *count && **count > 0) return **count;
  }
  return 1;
}

}  // namespace isthmus
