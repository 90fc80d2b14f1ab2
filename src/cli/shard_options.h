// The options of commands that can do a part of their work: calibrate, eval.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "shard/manifest.h"

namespace isthmus {

struct ShardOptions {
  std::string shard;
  std::optional<std::uint32_t> count;
  bool resumes = false;
};

// --shard, --shards, --resume.
void add_shard_options(CLI::App& command, ShardOptions& options);

struct ChosenShard {
  Shard shard;
  std::string variables;  // of the scheduler, where these say so
};
// The one that is asked for, or else that of the scheduler; nothing for all samples.
Expected<std::optional<ChosenShard>> choose_shard(const ShardOptions& options);
// Says where it comes from, and to which file it goes.
void print_shard(const ChosenShard& shard, const std::string& output);

// As many as there are CPUs, divided among the processes that a scheduler runs beside this one where none of them has
// CPUs of its own.
std::size_t threads_of_shard(std::size_t threads);

// Whether a file has just these samples of just this work.
bool is_same_part(const std::optional<Manifest>& found, const Manifest& wanted);

// The words that run this command again, but for what no result depends on and for the shard.
std::vector<std::string> command_words(const CLI::App& command);

}  // namespace isthmus
