// isthmus run
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>

#include "base/counts.h"
#include "cli/arrays.h"
#include "cli/commands.h"
#include "cli/limits.h"
#include "cli/model_options.h"
#include "cli/program_options.h"
#include "cli/terminal.h"
#include "interpret/interpreter.h"
#include "report/run.h"
#include "session/foreign_cause.h"
#include "session/given_inputs.h"
#include "session/io_quant.h"
#include "session/open_model.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus {
namespace {

struct RunOptions {
  std::string file;
  std::vector<std::string> inputs;
  std::string folder;
  ProgramOptions program;
  LimitOptions limits;
  bool wants_reset = false;
  std::vector<std::string> constants;
  CommonFlags common;
};

using Arrays = std::vector<std::vector<Tensor>>;  // by call
using Outputs = std::vector<std::optional<Tensor>>;

// What runs: "the model", "the method".
struct Wanted {
  std::string_view what;
  std::size_t inputs = 0;
  bool has_state = false;  // only then several calls differ from several runs
};

// The files of --input of one call.
Expected<Arrays> given_arrays(const RunOptions& options, const Wanted& wanted) {
  const std::size_t inputs = wanted.inputs;
  const std::size_t count = options.inputs.size();
  const bool has_sets = wanted.has_state && inputs > 0;
  if (has_sets ? count % inputs != 0 : count != inputs) {
    return bad_input(fmt::format("{}: {} takes {}, {} given{}", options.file, wanted.what, counted(inputs, "input"),
                                 count, has_sets ? ", which is not a multiple of it: each call takes as many" : ""));
  }
  Arrays calls;
  const std::span<const std::string> paths = options.inputs;
  for (std::size_t first = 0; first < std::max<std::size_t>(count, 1); first += std::max<std::size_t>(inputs, 1)) {
    calls.push_back(TRY(read_arrays(paths.subspan(first, inputs))));
  }
  return calls;
}

Expected<Arrays> inputs_of(const RunOptions& options, const Model& model, bool has_state) {
  if (!options.inputs.empty()) return given_arrays(options, {"the model", model.examples.size(), has_state});
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < model.examples.size(); ++i) {
    if (!model.examples[i]) {
      return bad_input(
          fmt::format("{} has no example for its input {}: give every input with --input", options.file, i));
    }
    tensors.push_back(Tensor::from(*model.examples[i]));
  }
  return Arrays{std::move(tensors)};
}

// Of what has no examples.
Expected<Arrays> inputs_of(const RunOptions& options, const Wanted& wanted,
                           const std::vector<run::TensorInfo>& inputs) {
  if (!options.inputs.empty() || inputs.empty()) return given_arrays(options, wanted);
  std::string expected;
  for (const run::TensorInfo& input : inputs) {
    expected += fmt::format("{}{}[{}]{}", expected.empty() ? "" : ", ", name_of(input.dtype),
                            fmt::join(input.sizes, ","), input.is_dynamic ? " at most" : "");
  }
  return bad_input(fmt::format("{} has no examples: give every input with --input ({})", options.file, expected));
}

// The outputs of one call are in the folder, those of several in a folder each.
Expected<RunSummary> run_calls(const RunOptions& options, const Arrays& calls,
                               const std::function<Expected<Outputs>(const std::vector<Tensor>&)>& call) {
  RunSummary summary;
  summary.calls = calls.size();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    restart_timeout();
    const auto name = [&] { return calls.size() > 1 ? fmt::format("{}, call {}", options.file, i) : options.file; };
    const Outputs outputs = TRY(within(call(calls[i]), name));
    const std::filesystem::path folder(options.folder);
    auto written =
        TRY(write_outputs(calls.size() > 1 ? (folder / fmt::format("call_{}", i)).string() : options.folder, outputs));
    for (RunSummary::Written& row : written) {
      row.call = i;
      summary.outputs.push_back(std::move(row));
    }
  }
  return summary;
}

// Sizes that the given arrays have.
Expected<InputRequest> request_of(const RunOptions& options, const OpenFile& file) {
  InputRequest request;
  request.constants = TRY(read_constants(options.constants));
  if (file.kind != FileKind::kOnnx) return request;
  const std::vector<Tensor> arrays = TRY(read_arrays(options.inputs));
  for (const Tensor& array : arrays) request.sizes.emplace_back(array.sizes());
  return request;
}

Expected<RunSummary> run_model(const RunOptions& options, const OpenFile& file) {
  const OpenModel opened = TRY(open_model(file, TRY(request_of(options, file))));
  Diagnostics diagnostics = opened.diagnostics;
  const Graph graph = TRY(within(canonicalize(opened.model.graph, diagnostics), options.file));
  TRY(within(demand_known_calls(graph, diagnostics), options.file));
  const Arrays calls = TRY(inputs_of(options, opened.model, !graph.states().empty()));
  const StateValues first = TRY(within(initial_states(graph), options.file));
  StateValues states = first;
  RunSummary summary = TRY(run_calls(options, calls, [&](const std::vector<Tensor>& inputs) {
    if (options.wants_reset) states = first;
    return interpret(graph, inputs, {}, &states);
  }));
  summary.states = states_of(graph);
  summary.host_calls = graph.nodes().size() * summary.calls;
  if (options.common.speaks()) print_diagnostics(diagnostics);
  return summary;
}

// A run that gives floats to a quantized input gets floats from quantized outputs.
Expected<Outputs> run_with_floats(run::Method& method, const IoQuant& quant, std::vector<Tensor> given,
                                  std::span<const std::string> paths) {
  const bool has_floats = quantize_inputs(quant, given);
  TRY(check_inputs(method.inputs(), given, paths));
  Outputs outputs = TRY(method.run(given));
  if (has_floats) dequantize_outputs(quant, outputs);
  return outputs;
}

Expected<RunSummary> run_program(const RunOptions& options, const OpenFile& file) {
  LoadedProgram program = TRY(load_program(file, options.program));
  const std::vector<run::TensorInfo>& inputs = program.method.inputs();
  const Arrays calls = TRY(inputs_of(options, {"the method", inputs.size(), !program.method.states().empty()}, inputs));
  const IoQuant quant =
      TRY(within(io_quant_of(file.bytes, inputs.size(), program.method.output_count()), options.file));
  RunSummary summary = TRY(run_calls(options, calls, [&](const std::vector<Tensor>& given) {
    if (options.wants_reset) program.method.reset();
    return run_with_floats(program.method, quant, given, options.inputs);
  }));
  const run::Statistics& statistics = program.method.statistics();
  for (const run::StateInfo& state : program.method.states()) {
    std::uint64_t bytes = size_of(state.type.dtype);
    for (const std::int64_t size : state.type.sizes) bytes *= static_cast<std::uint64_t>(size);
    const std::string name = state.name.empty() ? fmt::format("state_{}", summary.states.size()) : state.name;
    summary.states.push_back({name, std::string(name_of(state.type.dtype)), state.type.sizes, bytes});
  }
  summary.delegate_calls = statistics.delegate_calls;
  summary.host_calls = statistics.host_calls;
  summary.io_calls = statistics.io_calls;
  return summary;
}

Expected<RunSummary> run_tosa(const RunOptions& options, const OpenFile& file) {
  const LoadedTosa loaded = TRY(load_tosa(file, options.program));
  const std::vector<run::TensorInfo>& inputs = loaded.graph.inputs();
  const Arrays calls = TRY(inputs_of(options, {"the graph", inputs.size()}, inputs));
  RunSummary summary =
      TRY(run_calls(options, calls, [&](const std::vector<Tensor>& given) { return loaded.graph.run(given); }));
  summary.host_calls = loaded.graph.operator_count() * summary.calls;
  return summary;
}

Expected<void> run_file(RunOptions options) {
  options.program.max_bytes = start_limits(options.limits);
  const OpenFile file = TRY(open_file(options.file));
  const RunSummary summary = TRY(file.kind == FileKind::kProgram ? run_program(options, file)
                                 : file.kind == FileKind::kTosa  ? run_tosa(options, file)
                                                                 : run_model(options, file));
  if (options.common.wants_json || !options.common.is_quiet) {
    print_output(options.common.wants_json ? to_json(summary) : to_text(summary));
  }
  return {};
}

}  // namespace

Command add_run(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("run", "Runs a model (in float), a program or a TOSA graph, and writes the outputs as .npy.");
  const auto options = std::make_shared<RunOptions>();
  command
      ->add_option(
          "FILE", options->file,
          "a torch.export archive (.pt2), an ONNX model (.onnx), a program file (.pte) or a TOSA graph (.tosa)")
      ->required();
  command
      ->add_option("--input", options->inputs,
                   "an .npy file for each input, in order; default: the example inputs of a .pt2 file. Floats for a "
                   "quantized input are quantized, and outputs are floats then. For models with state give as many "
                   "again for each further call: the state is kept between calls")
      ->allow_extra_args(false);
  command
      ->add_option("-o,--output", options->folder,
                   "the folder for output_0.npy, output_1.npy, ...; several calls write to call_0, call_1, ...")
      ->required();
  command->add_flag("--reset", options->wants_reset, "reset the state before each call");
  add_constant_option(*command, options->constants);
  add_program_options(*command, options->program);
  add_limit_options(*command, options->limits);
  add_common_flags(*command, options->common);
  command->footer(
      "Examples:\n  isthmus run model.pt2 -o out\n  isthmus run model.pt2 --input image.npy -o out\n"
      "  isthmus run model.pte --input image.npy -o out --threads 2\n"
      "  isthmus run stream.pte --input frame_0.npy --input frame_1.npy -o out");
  return {command, [options] { return fine(run_file(*options)); }};
}

}  // namespace isthmus
