// Which shard a process takes under each scheduler.
#include "cli/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace isthmus::scheduler_test {
namespace {

using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

Environment environment(Variables variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

struct Case {
  const char* name;
  Variables variables;
  std::optional<std::uint32_t> count;
  std::string shard;  // empty: all samples
};

TEST(Scheduler, VariablesSayWhichShard) {
  const Variables array{{"SLURM_ARRAY_TASK_ID", "5"}, {"SLURM_ARRAY_TASK_COUNT", "4"}, {"SLURM_ARRAY_TASK_MIN", "2"}};
  Variables stepped = array;
  stepped["SLURM_ARRAY_TASK_ID"] = "6";
  stepped["SLURM_ARRAY_TASK_STEP"] = "2";
  Variables tasks_of_array = array;
  tasks_of_array.merge(Variables{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "3"}, {"SLURM_STEP_ID", "0"}});
  const Variables again{{"SLURM_ARRAY_TASK_ID", "5"}, {"SLURM_ARRAY_TASK_COUNT", "1"}, {"SLURM_ARRAY_TASK_MIN", "5"}};
  const Case cases[] = {
      {"none", {}, {}, ""},
      {"Open MPI", {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "8"}}, {}, "3/8"},
      {"one rank", {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}, {}, ""},
      {"srun",
       {{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "9"}, {"SLURM_STEP_ID", "0"}},
       {},
       "2/4"},
      {"srun, and no more variables", {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}, {}, "0/4"},
      {"the script of a job", {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "9"}}, {}, ""},
      {"array", array, {}, "3/4"},
      {"array in steps", stepped, {}, "2/4"},
      {"tasks of an array", tasks_of_array, {}, "10/12"},
      {"some of an array again", again, 8, "5/8"},
      {"Kubernetes", {{"JOB_COMPLETION_INDEX", "7"}}, 16, "7/16"},
  };
  for (const Case& row : cases) {
    const auto found = scheduled_shard(environment(row.variables), row.count);
    ASSERT_TRUE(found) << row.name << ": " << found.error().text();
    EXPECT_EQ(*found ? text_of((*found)->shard) : "", row.shard) << row.name;
  }
  EXPECT_EQ((*scheduled_shard(environment(tasks_of_array), {}))->variables,
            "SLURM_ARRAY_TASK_ID=5 of SLURM_ARRAY_TASK_COUNT=4 and SLURM_PROCID=1 of SLURM_NTASKS=3");
}

TEST(Scheduler, ContradictingVariablesAreRejected) {
  const auto refusal = [](const Variables& variables, std::optional<std::uint32_t> count) {
    const auto found = scheduled_shard(environment(variables), count);
    return found ? std::string("none") : found.error().message;
  };
  EXPECT_THAT(refusal({{"JOB_COMPLETION_INDEX", "7"}}, {}), HasSubstr("give --shards"));
  EXPECT_THAT(refusal({{"JOB_COMPLETION_INDEX", "7"}}, 4), HasSubstr("out of range for 4 shards"));
  EXPECT_THAT(refusal({{"OMPI_COMM_WORLD_RANK", "x"}, {"OMPI_COMM_WORLD_SIZE", "8"}}, {}),
              HasSubstr("is not a number"));
  EXPECT_THAT(refusal({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "8"}}, 5), HasSubstr("does not match"));
  EXPECT_THAT(
      refusal({{"SLURM_ARRAY_TASK_ID", "7"}, {"SLURM_ARRAY_TASK_COUNT", "3"}, {"SLURM_ARRAY_TASK_MIN", "0"}}, {}),
      HasSubstr("out of range for 3 shards"));
  EXPECT_THAT(refusal({{"SLURM_ARRAY_TASK_ID", "3"},
                       {"SLURM_ARRAY_TASK_COUNT", "3"},
                       {"SLURM_ARRAY_TASK_MIN", "0"},
                       {"SLURM_ARRAY_TASK_STEP", "2"}},
                      {}),
              HasSubstr("does not follow"));
}

TEST(Scheduler, ProcessesOfOneMachineAreCounted) {
  EXPECT_EQ(processes_beside(environment({})), 1u);
  EXPECT_EQ(processes_beside(environment({{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}})), 4u);
  EXPECT_EQ(processes_beside(environment({{"SLURM_NTASKS_PER_NODE", "8"}})), 8u);
  EXPECT_EQ(processes_beside(environment({{"SLURM_NTASKS_PER_NODE", "many"}})), 1u);
}

}  // namespace
}  // namespace isthmus::scheduler_test
