// The samples of one shard, hashed as they are read.
#pragma once

#include <cstdint>
#include <memory>

#include "base/expected.h"
#include "calibrate/samples.h"
#include "shard/manifest.h"

namespace isthmus {

class ShardSamples final : public Samples {
 public:
  // Passes over what earlier shards have. Fails where it is not known before how many samples there are.
  static Expected<std::unique_ptr<ShardSamples>> of(std::unique_ptr<Samples> source, Shard shard);

  std::optional<std::size_t> count() const override { return range_.count(); }
  Expected<std::optional<std::vector<Tensor>>> next() override;
  std::optional<std::size_t> sequence() const override { return source_->sequence(); }
  std::size_t first() const override { return static_cast<std::size_t>(range_.begin); }

  SampleRange range() const { return range_; }
  // With the hash of the samples that were read so far, and without facts.
  Manifest manifest() const;

 private:
  ShardSamples(std::unique_ptr<Samples> source, Shard shard, std::uint64_t samples, std::uint64_t step);

  std::unique_ptr<Samples> source_;
  Shard shard_;
  std::uint64_t samples_;
  std::uint64_t step_;
  SampleRange range_;
  std::uint64_t given_ = 0;
  SampleHasher hasher_;
};

}  // namespace isthmus
