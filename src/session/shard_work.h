// Samples as one shard of them, and what all shards of one work have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "calibrate/shard_samples.h"
#include "session/data.h"
#include "session/prepare.h"
#include "session/program.h"
#include "shard/manifest.h"

namespace isthmus {

// Fails for a model whose samples all follow each other.
Expected<std::unique_ptr<ShardSamples>> shard_of(std::unique_ptr<Samples> samples, Shard shard, bool has_states);

// Reads all samples for the sake of their hash.
Expected<void> read_all(Samples& samples);

using Facts = std::vector<Manifest::Fact>;
Expected<Facts> calibration_facts(const Prepared& prepared, const TargetDesc& target, const DataOptions& data);
Expected<Facts> evaluation_facts(const Blob& program, const ProgramOptions& options, const Prepared& reference,
                                 const DataOptions& data, std::span<const std::int64_t> labels);

}  // namespace isthmus
