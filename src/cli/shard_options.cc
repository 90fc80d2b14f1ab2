// --shard, or what a scheduler says.
#include "cli/shard_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>

#include "cli/common_flags.h"
#include "cli/scheduler.h"
#include "cli/terminal.h"

namespace isthmus {
namespace {

constexpr std::array<std::string_view, 8> kNotRepeated = {"--shard", "--shards", "--resume",  "--threads",
                                                          "--json",  "--quiet",  "--verbose", "--help"};

}  // namespace

void add_shard_options(CLI::App& command, ShardOptions& options) {
  const CLI::Validator is_shard(
      [](std::string& text) -> std::string {
        const auto shard = read_shard(text);
        return shard ? std::string() : shard.error().message;
      },
      "i/n");
  command
      .add_option("--shard", options.shard,
                  "run one shard of the samples, 0/8 for the first of eight, and write NAME.0-of-8.EXT for -o "
                  "NAME.EXT; `isthmus merge` joins the shards. Under mpirun, srun, Slurm job arrays and Kubernetes "
                  "indexed jobs each process takes its own shard by default")
      ->check(is_shard);
  command
      .add_option("--shards", options.count,
                  "the number of shards, if the scheduler gives only the index, as Kubernetes does")
      ->check(at_least(1))
      ->excludes("--shard");
  command.add_flag("--resume", options.resumes,
                   "skip the run if the shard's file exists and has the same samples, settings and model");
}

Expected<std::optional<ChosenShard>> choose_shard(const ShardOptions& options) {
  if (!options.shard.empty()) return ChosenShard{TRY(read_shard(options.shard)), {}};
  auto scheduled = TRY(scheduled_shard(environment_variable, options.count));
  if (scheduled) return ChosenShard{scheduled->shard, std::move(scheduled->variables)};
  if (options.count.value_or(1) > 1) {
    return bad_input(
        fmt::format("--shards {}: no scheduler gives the index of this shard; give --shard", *options.count));
  }
  return std::nullopt;
}

void print_shard(const ChosenShard& shard, const std::string& output) {
  if (shard.variables.empty()) return;
  print_note(fmt::format("shard {} of the samples, from {}: {}\n", text_of(shard.shard), shard.variables, output));
}

std::size_t threads_of_shard(std::size_t threads) {
  const bool has_all_cpus = threads >= std::thread::hardware_concurrency();
  return has_all_cpus ? std::max<std::size_t>(1, threads / processes_beside(environment_variable)) : threads;
}

bool is_same_part(const std::optional<Manifest>& found, const Manifest& wanted) {
  if (!found) return false;
  Manifest same = wanted;
  same.command = found->command;
  return *found == same;
}

std::vector<std::string> command_words(const CLI::App& command) {
  std::vector<std::string> words{"isthmus", command.get_name()};
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || std::ranges::find(kNotRepeated, name) != kNotRepeated.end()) continue;
    const bool is_flag = option->get_items_expected_max() == 0;
    if (is_flag) {
      words.push_back(name);
      continue;
    }
    for (const std::string& value : option->results()) {
      if (!option->get_positional()) words.push_back(name);
      words.push_back(value);
    }
  }
  return words;
}

}  // namespace isthmus
