// The .eval file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "evaluate/evaluate.h"

namespace isthmus {

// Counts up whenever evaluations of an older version mean something else.
inline constexpr std::uint32_t kEvaluationVersion = 1;

struct EvaluationFile {
  std::string program;  // as it was named
  Evaluation evaluation;
};

// Whether a file claims to be one.
bool is_evaluation_file(const Blob& file);

// Equal evaluations give equal bytes.
std::vector<std::byte> write_evaluation(const EvaluationFile& file);

// Verifies everything.
Expected<EvaluationFile> read_evaluation(const Blob& file);

}  // namespace isthmus
