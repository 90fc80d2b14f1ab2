// What `check` and `compile` found, for people and for machines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diag.h"
#include "evaluate/layer_errors.h"
#include "ir/graph.h"
#include "report/causes.h"
#include "report/costs.h"
#include "report/rows.h"
#include "report/states.h"
#include "report/tosa.h"
#include "session/session.h"

namespace isthmus {

struct CompileSummary {
  struct HostNode {
    std::string node, op, code, reason, origin, module;
    std::string hint;              // what to do about the last cause
    std::string call;              // as the user wrote it: "embedding"; may be empty
    std::vector<CauseRow> causes;  // itself first, the root cause last
    bool needs_fix = true;         // the hint says what to do, and not that nothing is to be done
  };
  struct Transpose {
    std::string value;
    std::string from, to;  // axes in the order of memory
    std::uint64_t bytes = 0;
  };
  struct IoConversion {
    std::string value;
    std::string kind;   // "quantize", "dequantize"
    std::string cause;  // the node on the host for whose sake it is there; empty for the model's own inputs and outputs
  };
  struct Rescale {
    std::string value, reader, because;
  };
  // A demand that only the numbers can show to hold.
  struct Unproven {
    std::string node, op, demand;
  };
  // An input or output of the program.
  struct Io {
    std::string name, type;  // "i8[1,3,224,224]"
    std::string dtype;
    std::vector<std::string> shape;
    std::optional<Quant> quant;  // where it is quantized
  };
  struct OutputError {
    std::string output;
    double db = 0;
  };
  struct LayerError {
    std::string value, op, origin, module;
    double db = 0, cosine = 0;             // against the model in float
    double rounding_db = 0, alone_db = 0;  // of its own rounding, in shared parameters and in its own
    std::optional<NodeGain> gain = {};     // what the outputs gain if it alone is computed more precisely
  };
  // Of all delegates: cycles of a run, and the most memory that one of them needs.
  struct Cost {
    double cycles = 0;
    double sram_bytes = 0;
    std::string source;  // the step that said so, or "estimate"
  };
  // What a compile adds.
  struct File {
    std::string path;
    std::uint64_t bytes = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t min_memory_bytes = 0;
    std::size_t device_nodes = 0;
    std::string backend;            // of the delegates; empty where there is none
    std::vector<TosaFigures> tosa;  // of the delegates that hold TOSA graphs, before any finishing step
    std::vector<std::string> tosa_files, mlir_files;
    std::string finished_by;                 // the step that finished the delegates; empty where none did
    std::vector<FinishedDelegate> finished;  // those of them of which it says something
    std::optional<Cost> cost;
    std::optional<CostTable> costs;  // node by node, always by estimate
    std::vector<Transpose> transposes;
    std::uint64_t peak_rss_bytes = 0;
    std::uint64_t samples = 0;           // of calibration
    std::vector<OutputError> sqnr;       // of each output, in float where empty
    std::string held_out;                // what the errors are of: "4 samples that calibration did not see"
    std::uint64_t held_out_samples = 0;  // how many they are
    std::string why_no_figure;           // where there are no errors
  };

  std::string model;
  std::string target;
  std::string_view label;                // of the target, as people call it
  std::optional<Unfinished> unfinished;  // what is said of its delegates where no step has finished them
  std::size_t nodes = 0;
  std::size_t delegates = 0;
  std::size_t delegated_nodes = 0;
  std::vector<HostNode> host;
  std::vector<Io> inputs, outputs;
  std::vector<StateRow> states;
  std::string_view wider;  // what a node is promoted to: "float" or "16 bits"
  bool is_quantized = false;
  bool has_parameters = false;  // scales mean something: there were data or parameters of the archive
  std::vector<IoConversion> io_conversions;
  std::vector<Unproven> unproven;
  std::size_t groups = 0;
  std::vector<Rescale> rescales;
  std::vector<LayerError> errors;  // those first that the outputs gain most by
  std::vector<NodeGain> promoted;  // by --promote, in the order in which they were taken
  std::vector<Diagnostic> warnings, notes;
  std::vector<StageTime> times;
  std::vector<std::string> broken_gates;  // sentences, see gates.h
  std::optional<Error> error;             // why it does not compile
  std::optional<File> file;
};

// `quantized` is null for a model that stays in float.
CompileSummary summarize(const std::string& model, const TargetDesc& target, const Prepared& prepared,
                         const QuantizedModel* quantized, const Diagnostics& diagnostics);
// `graph` is the one that was compiled.
void add_file(CompileSummary& summary, const std::string& path, const Graph& graph, const Compiled& compiled);

// The same of a session, after `place` and after `compile`.
CompileSummary summarize(const Session& session);
void add_file(CompileSummary& summary, const std::string& path, const Session& session);

void add_layer_errors(CompileSummary& summary, const Graph& model, const std::vector<ValueError>& errors,
                      const std::vector<NodeGain>& gains);

std::string to_text(const CompileSummary& summary, bool is_verbose, TextStyle style = {});
std::string to_json(const CompileSummary& summary);

}  // namespace isthmus
