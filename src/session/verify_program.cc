// Opens both sides, and makes samples of what the program takes.
#include "session/verify_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "calibrate/finite.h"
#include "formats/tosa/tosa.h"
#include "frontends/shapes.h"
#include "interpret/quantized_types.h"
#include "session/device_outputs.h"
#include "session/foreign_cause.h"
#include "session/io_quant.h"

namespace isthmus {
namespace {

constexpr std::size_t kDefaultSamples = 32;

// What runs it, and the sizes that it takes.
struct Runnable {
  anatomy::Graph graph;
  fidelity::RunShown run;
  SizesOfInputs sizes;
};

Expected<Runnable> open_pte(const OpenFile& file, const ProgramOptions& options) {
  Runnable result;
  const auto loaded = std::make_shared<LoadedProgram>(TRY(load_program(file, options)));
  const pte::Program program = TRY(within(pte::read_program(file.bytes), file.path));
  const pte::Plan* plan = pte::find_plan(program, options.method);
  CHECK(plan != nullptr, "a method that was loaded");
  result.graph = TRY(within(anatomy::take_apart(program, *plan), file.path));
  result.sizes = sizes_of(loaded->method.inputs());
  const IoQuant quant =
      TRY(within(io_quant_of(file.bytes, loaded->method.inputs().size(), loaded->method.output_count()), file.path));
  result.run = [loaded, quant](std::span<const Tensor> inputs, const anatomy::Show& show) {
    return with_float_io([&](std::span<const Tensor> given) { return loaded->method.run(given, show); }, quant)(inputs);
  };
  return result;
}

Expected<Runnable> open_tosa(const OpenFile& file, const VerifyProgramOptions& options,
                             std::shared_ptr<std::vector<std::optional<TensorType>>> types) {
  Runnable result;
  const tosa::Graph graph = TRY(within(tosa::read_graph(file.bytes), file.path));
  result.graph = anatomy::take_apart(graph);
  const auto loaded = std::make_shared<LoadedTosa>(TRY(load_tosa(file, options.program)));
  for (const run::TensorInfo& input : loaded->graph.inputs()) {
    result.sizes.emplace_back(input.sizes);
    types->emplace_back();
    if (input.dtype != DType::kF32) types->back().emplace().dtype = input.dtype;
  }
  result.run = [loaded, types](std::span<const Tensor> inputs, const anatomy::Show& show) {
    std::vector<Tensor> given(inputs.begin(), inputs.end());
    quantize_inputs({*types, {}}, given);
    return loaded->graph.run(given, show);
  };
  return result;
}

// The largest step with which all samples fit, as a calibration by their extremes chooses it.
void estimate_scales(const anatomy::Graph& program, const std::vector<std::vector<Tensor>>& samples,
                     std::vector<std::optional<TensorType>>& types, const std::optional<double>& given) {
  for (std::size_t i = 0; i < types.size() && i < program.inputs.size(); ++i) {
    if (!types[i]) continue;
    const auto zero_point = program.values[program.inputs[i]].zero_point.value_or(0);
    const auto range = quantized_range(types[i]->dtype);
    double scale = given.value_or(0);
    for (const auto& sample : samples) {
      if (given || i >= sample.size() || sample[i].dtype() != DType::kF32) continue;
      for (const float number : sample[i].data<float>()) {
        const auto room = static_cast<double>(number >= 0 ? range.max - zero_point : zero_point - range.min);
        if (room > 0) scale = std::max(scale, std::abs(static_cast<double>(number)) / room);
      }
    }
    types[i]->quant = Quant{{static_cast<float>(scale == 0 ? 1 : scale)}, zero_point, -1};
  }
}

Expected<std::vector<std::vector<Tensor>>> all_of(Samples& samples) {
  std::vector<std::vector<Tensor>> result;
  while (true) {
    auto sample = TRY(samples.next());
    if (!sample) return result;
    result.push_back(*std::move(sample));
  }
}

}  // namespace

Expected<VerifiedProgram> verify_program(const OpenFile& file, const ReferenceOpener& open_reference,
                                         const VerifyProgramOptions& options, Diagnostics& diagnostics,
                                         const std::function<void(double)>& progress) {
  VerifyProgramOptions wanted = options;
  wanted.program.shows_values = true;
  const auto types = std::make_shared<std::vector<std::optional<TensorType>>>();
  const bool is_tosa = file.kind == FileKind::kTosa;
  Runnable runnable = is_tosa ? TRY(open_tosa(file, wanted, types)) : TRY(open_pte(file, wanted.program));
  const OpenModel& reference = *TRY(open_reference(runnable.sizes));
  const PrepareOptions prepare = at_sizes(options.prepare, reference.model.graph, runnable.sizes);
  Prepared prepared;
  prepared.graph = TRY(within(
      canonical_graph(reference.model.graph, prepare, diagnostics, prepared.times, prepared.rewrites), reference.path));
  TRY(within(demand_known_calls(prepared.graph, diagnostics), reference.path));
  const auto examples = fitting_examples(prepared.graph, reference.model.examples);
  wanted.data.max_samples = options.data.max_samples.value_or(kDefaultSamples);
  std::unique_ptr<Samples> samples = TRY(samples_of(wanted.data, reference.path, examples, prepared, diagnostics));
  samples = finite_samples(std::move(samples), prepared.graph);
  if (is_tosa) {
    auto in_memory = TRY(all_of(*samples));
    estimate_scales(runnable.graph, in_memory, *types, options.input_scale);
    samples = given_samples(std::move(in_memory));
  }
  fidelity::Dump dump;
  fidelity::Options how{.max_samples = *wanted.data.max_samples, .progress = progress};
  if (!options.device_outputs.empty()) {
    dump = TRY(read_device_outputs(options.device_outputs, runnable.graph, diagnostics));
    how.dump = &dump;
  }
  auto found = TRY(within(fidelity::examine(runnable.graph, runnable.run, prepared.graph, *samples, how), file.path));
  return VerifiedProgram{std::move(runnable.graph), std::move(prepared.graph), std::move(found)};
}

}  // namespace isthmus
