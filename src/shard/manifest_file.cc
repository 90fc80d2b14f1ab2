// A manifest as a flatbuffer, and back with every number checked.
#include <fmt/format.h>
#include <xxhash.h>

#include <new>
#include <utility>

#include "shard/manifest.h"
#include "shard/schema/manifest_generated.h"

namespace isthmus {

std::vector<std::byte> write_manifest(const Manifest& manifest) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<shard_fb::Fact>> facts;
  for (const Manifest::Fact& fact : manifest.facts) {
    const auto name = builder.CreateString(fact.name);
    facts.push_back(shard_fb::CreateFact(builder, name, builder.CreateString(fact.value)));
  }
  std::vector<flatbuffers::Offset<shard_fb::Part>> parts;
  for (const Manifest::Part& part : manifest.parts) {
    parts.push_back(shard_fb::CreatePart(builder, part.shard.index, part.shard.count, part.hash.low, part.hash.high));
  }
  const auto fact_rows = builder.CreateVector(facts);
  const auto part_rows = builder.CreateVector(parts);
  const auto command = builder.CreateVectorOfStrings(manifest.command);
  shard_fb::FinishManifestBuffer(
      builder, shard_fb::CreateManifest(builder, manifest.samples, manifest.step, fact_rows, part_rows, command));
  const auto* begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {begin, begin + builder.GetSize()};
}

Expected<Manifest> read_manifest(std::span<const std::byte> bytes) {
  // The verifier wants an alignment that a part of a file need not have.
  const std::vector<std::byte> aligned(bytes.begin(), bytes.end());
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(aligned.data()), aligned.size());
  if (aligned.size() < 8 || !shard_fb::ManifestBufferHasIdentifier(aligned.data()) ||
      !shard_fb::VerifyManifestBuffer(verifier)) {
    return bad_input("the manifest is damaged");
  }
  const shard_fb::Manifest& root = *shard_fb::GetManifest(aligned.data());
  constexpr std::uint64_t kMaxSamples = std::uint64_t{1} << 52;
  if (root.samples() > kMaxSamples || root.step() == 0 || root.step() > kMaxSamples) {
    return bad_input(fmt::format("a manifest of {} samples in steps of {}", root.samples(), root.step()));
  }
  Manifest manifest;
  manifest.samples = root.samples();
  manifest.step = root.step();
  for (const shard_fb::Fact* fact : *root.facts())
    manifest.facts.push_back({fact->name()->str(), fact->value()->str()});
  std::uint64_t end = 0;
  for (const shard_fb::Part* row : *root.parts()) {
    const Shard shard = TRY(read_shard(text_of(Shard{row->index(), row->count()})));
    const Manifest::Part part{shard, {row->hash_low(), row->hash_high()}};
    const SampleRange range = manifest.range_of(part);
    manifest.parts.push_back(part);
    if (range.count() == 0) continue;
    if (range.begin < end) return bad_input(fmt::format("shard {} overlaps the one before it", text_of(shard)));
    end = range.end;
  }
  for (const flatbuffers::String* word : *root.command()) manifest.command.push_back(word->str());
  return manifest;
}

struct SampleHasher::State {
  State() {
    if (xxh == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(xxh);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { XXH3_freeState(xxh); }

  XXH3_state_t* xxh = XXH3_createState();
};

SampleHasher::SampleHasher() : state_(std::make_unique<State>()) {}
SampleHasher::SampleHasher(SampleHasher&&) noexcept = default;
SampleHasher::~SampleHasher() = default;

void SampleHasher::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}

SampleHash SampleHasher::hash() const {
  const XXH128_hash_t digest = XXH3_128bits_digest(state_->xxh);
  return {digest.low64, digest.high64};
}

}  // namespace isthmus
