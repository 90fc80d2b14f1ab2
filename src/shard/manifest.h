// What the file of a shard says about its origin, so that only parts of one work are joined, each once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "shard/shard.h"

namespace isthmus {

// Of the elements of samples, one after another.
struct SampleHash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const SampleHash&) const = default;
};

struct Manifest {
  struct Fact {
    std::string name;  // "target"
    std::string value;
    bool operator==(const Fact&) const = default;
  };
  struct Part {
    Shard shard;
    SampleHash hash;  // of its samples
    bool operator==(const Part&) const = default;
  };

  std::uint64_t samples = 0;         // in all parts
  std::uint64_t step = 1;            // see `range_of`
  std::vector<Fact> facts;           // what all parts have in common: tool, model, settings, data
  std::vector<Part> parts;           // that are in the file, in the order of their samples
  std::vector<std::string> command;  // the words that made a part, but for the shard

  bool operator==(const Manifest&) const = default;

  SampleRange range_of(const Part& part) const { return isthmus::range_of(part.shard, samples, step); }
  // Adds the parts of another. Fails where facts differ, and where samples are in both.
  Expected<void> join(const Manifest& other);

  // That are in its parts.
  std::uint64_t known_samples() const;
  // Samples that are in no part, in order.
  std::vector<SampleRange> missing() const;
  bool is_whole() const { return missing().empty(); }
  // The shards that have the missing samples, of the counts that its parts have; what no such shard fits is left out.
  std::vector<Shard> missing_shards() const;
  // "12 of 100 samples are missing: samples 13 to 24"
  std::string missing_text() const;
  // As one types it into a shell.
  std::string command_of(Shard shard) const;
};

std::vector<std::byte> write_manifest(const Manifest& manifest);
// Verifies everything.
Expected<Manifest> read_manifest(std::span<const std::byte> bytes);

// Hashes samples as they come.
class SampleHasher {
 public:
  SampleHasher();
  SampleHasher(SampleHasher&&) noexcept;
  ~SampleHasher();
  void add(std::span<const std::byte> bytes);
  SampleHash hash() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace isthmus
