// Evaluations as a flatbuffer, and back with every count checked.
#include "evaluate/evaluation_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "evaluate/schema/evaluation_generated.h"

namespace isthmus {
namespace {

using Limbs = flatbuffers::Vector<std::uint64_t>;

Expected<ExactSum> sum_of(const Limbs& limbs) {
  if (limbs.size() != ExactSum::kLimbs) return bad_input(fmt::format("a sum of {} limbs", limbs.size()));
  ExactSum::Limbs read{};
  std::ranges::copy(limbs, read.begin());
  return ExactSum::from(read);
}

}  // namespace

bool is_evaluation_file(const Blob& file) {
  return file.size() >= 8 && evaluation_fb::EvaluationBufferHasIdentifier(file.bytes().data());
}

std::vector<std::byte> write_evaluation(const EvaluationFile& file) {
  flatbuffers::FlatBufferBuilder builder;
  const auto limbs = [&](const ExactSum& sum) { return builder.CreateVector(sum.limbs().data(), sum.limbs().size()); };
  const Evaluation& found = file.evaluation;
  std::vector<flatbuffers::Offset<evaluation_fb::Output>> outputs;
  for (const SignalToNoise& output : found.outputs) {
    const SignalToNoise::Sums& sums = output.sums();
    const auto signal = limbs(sums.signal);
    const auto noise = limbs(sums.noise);
    const auto product = limbs(sums.product);
    outputs.push_back(evaluation_fb::CreateOutput(builder, output.count(), output.not_finite(), signal, noise, product,
                                                  limbs(sums.found)));
  }
  const auto program = builder.CreateString(file.program);
  const auto rows = builder.CreateVector(outputs);
  flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> part = 0;
  if (found.part) {
    const std::vector<std::byte> manifest = write_manifest(*found.part);
    part = builder.CreateVector(reinterpret_cast<const std::uint8_t*>(manifest.data()), manifest.size());
  }
  evaluation_fb::FinishEvaluationBuffer(
      builder,
      evaluation_fb::CreateEvaluation(builder, kEvaluationVersion, program, found.samples, found.rows, found.agreeing,
                                      found.has_labels, found.right_reference, found.right, rows, part));
  const auto* begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {begin, begin + builder.GetSize()};
}

Expected<EvaluationFile> read_evaluation(const Blob& file) {
  if (!is_evaluation_file(file)) return bad_input("not an evaluation of `isthmus eval`");
  // The verifier wants the alignment that a mapped file has.
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(file.bytes().data()), file.size());
  if (!evaluation_fb::VerifyEvaluationBuffer(verifier)) return bad_input("the evaluation is damaged");
  const evaluation_fb::Evaluation& root = *evaluation_fb::GetEvaluation(file.bytes().data());
  if (root.version() != kEvaluationVersion) {
    return bad_input(fmt::format("an evaluation of version {}, this Isthmus reads version {}: evaluate again",
                                 root.version(), kEvaluationVersion));
  }
  EvaluationFile result{root.program()->str(), {}};
  Evaluation& found = result.evaluation;
  found.samples = root.samples();
  found.rows = root.rows();
  found.agreeing = root.agreeing();
  found.has_labels = root.has_labels();
  found.right_reference = root.right_reference();
  found.right = root.right();
  // Far from overflow even where thousands of files are joined.
  constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 52;
  if (found.samples > kMaxCount || found.rows > kMaxCount || found.agreeing > found.rows ||
      found.right_reference > found.rows || found.right > found.rows) {
    return bad_input(fmt::format("{} samples, {} results, of which {} agree, {} and {} are right", found.samples,
                                 found.rows, found.agreeing, found.right_reference, found.right));
  }
  for (const evaluation_fb::Output* row : *root.outputs()) {
    SignalToNoise::Sums sums;
    sums.signal = TRY(sum_of(*row->signal()));
    sums.noise = TRY(sum_of(*row->noise()));
    sums.product = TRY(sum_of(*row->product()));
    sums.found = TRY(sum_of(*row->found()));
    if (row->count() > kMaxCount || row->not_finite() > found.samples) {
      return bad_input(fmt::format("an output of {} numbers, {} tensors not finite", row->count(), row->not_finite()));
    }
    found.outputs.emplace_back(sums, row->count(), row->not_finite());
  }
  if (root.part() != nullptr) {
    found.part = TRY(read_manifest(std::as_bytes(std::span(root.part()->data(), root.part()->size()))));
  }
  return result;
}

}  // namespace isthmus
