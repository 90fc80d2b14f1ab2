// A few of ONNX's own backend tests, with what they recorded; ./dev test onnx runs all of them.
#include "support/onnx_backend.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/models.h"

namespace isthmus::test::onnx_backend_sample_test {
namespace {

TEST(OnnxBackendSample, EachComputesAsRecorded) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / "tests/models/onnx/backend")) {
    const OnnxOutcome outcome = onnx_outcome(entry.path());
    EXPECT_EQ(outcome.interpreter, "agrees") << entry.path();
    EXPECT_TRUE(outcome.program == "agrees" || outcome.program == "-") << entry.path() << ": " << outcome.program;
    ++count;
  }
  EXPECT_EQ(count, 14);
}

}  // namespace
}  // namespace isthmus::test::onnx_backend_sample_test
