// The statistics of every value of a prepared model.
#pragma once

#include <cstdint>

#include "base/diag.h"
#include "base/expected.h"
#include "calibrate/calibrate.h"
#include "calibrate/samples.h"
#include "engines/xnnpack/thread_pool.h"
#include "session/float_model.h"
#include "session/prepare.h"
#include "stats/statistics.h"

namespace isthmus {

// What a calibration computes floats with.
enum class FloatKernels : std::uint8_t {
  kXnnpack,    // the local library, whatever the target; what that lacks runs on the reference kernels
  kReference,  // the reference kernels alone, which give the same bits on every CPU
};

Expected<Statistics> calibrate(const Prepared& prepared, FloatModel& float_model, Samples& samples,
                               const xnnpack::ThreadPool& threads, const Progress& progress, Diagnostics& diagnostics,
                               FloatKernels kernels = FloatKernels::kXnnpack);
// The same, with a float model of its own.
Expected<Statistics> calibrate(const Prepared& prepared, Samples& samples, const xnnpack::ThreadPool& threads,
                               const Progress& progress, Diagnostics& diagnostics,
                               FloatKernels kernels = FloatKernels::kXnnpack);

}  // namespace isthmus
