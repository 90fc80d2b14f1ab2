#include "calibrate/shard_samples.h"

#include <utility>

namespace isthmus {

ShardSamples::ShardSamples(std::unique_ptr<Samples> source, Shard shard, std::uint64_t samples, std::uint64_t step)
    : source_(std::move(source)),
      shard_(shard),
      samples_(samples),
      step_(step),
      range_(range_of(shard, samples, step)) {}

Expected<std::unique_ptr<ShardSamples>> ShardSamples::of(std::unique_ptr<Samples> source, Shard shard) {
  const auto count = source->count();
  if (!count) return bad_input("the number of samples is unknown, so they cannot be split into shards");
  const std::uint64_t step = source->sequence().value_or(1);
  std::unique_ptr<ShardSamples> part(new ShardSamples(std::move(source), shard, *count, step));
  if (part->range_.count() > 0) TRY(part->source_->skip(static_cast<std::size_t>(part->range_.begin)));
  return part;
}

Expected<std::optional<std::vector<Tensor>>> ShardSamples::next() {
  if (given_ == range_.count()) return std::nullopt;
  auto sample = TRY(source_->next());
  if (!sample) return std::nullopt;
  ++given_;
  for (const Tensor& tensor : *sample) hasher_.add(tensor.bytes());
  return sample;
}

Manifest ShardSamples::manifest() const {
  return {.samples = samples_, .step = step_, .facts = {}, .parts = {{shard_, hasher_.hash()}}, .command = {}};
}

}  // namespace isthmus
