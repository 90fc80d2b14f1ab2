// What is in a program file, for a person and for a program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "formats/executorch/io_params.h"
#include "formats/executorch/provenance.h"
#include "formats/executorch/pte.h"
#include "program/anatomy/anatomy.h"
#include "report/rows.h"
#include "report/states.h"

namespace isthmus {

// All that `isthmus inspect` says about one method of a program file. Delegates of other backends than XNNPACK and
// TOSA are counted but not looked into.
struct ProgramSummary {
  struct Tensor {
    std::string name;
    std::string dtype;  // of a value that is not a tensor: what it is
    std::vector<std::int32_t> shape;
    bool is_tensor = true;
    bool is_dynamic = false;                   // the sizes are upper bounds
    std::vector<std::uint8_t> dim_order = {};  // axes from the outermost in memory to the innermost
    std::optional<pte::IoParams> params = {};  // where the file says how it is quantized
  };
  struct Delegate {
    std::string backend;
    std::uint64_t bytes = 0;
    std::size_t calls = 0;
    bool is_read = false;  // its graph is known
    std::size_t nodes = 0;
    std::size_t transposes = 0;
    Counts ops;
    std::string problem;  // why its graph could not be read
  };
  struct HostOp {
    std::string name;
    std::size_t calls = 0;
    std::size_t io_calls = 0;
  };
  struct Data {
    std::size_t count = 0;
    std::uint64_t bytes = 0;  // bytes that two of them share count once
  };
  std::string file;
  std::uint64_t bytes = 0;
  std::string method;
  std::vector<std::string> methods;  // all of the file
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<StateRow> states;
  std::size_t instructions = 0;
  std::vector<std::uint64_t> memory;  // bytes of the plan's buffers, from memory 1 on
  std::vector<Delegate> delegates;
  std::vector<HostOp> host;  // the most called first
  Counts ops;                // nodes in delegates and calls of host operators together
  Data constants;
  Data initial_values;
  Data named_data;
  std::optional<pte::Provenance> provenance;

  std::uint64_t memory_bytes() const;
  std::size_t host_calls() const;
  std::size_t io_calls() const;
  std::size_t transposes() const;
};

ProgramSummary summarize(const std::string& file, std::uint64_t bytes, const pte::Program& program,
                         const pte::Plan& plan);

// The method of a program file, or the first one where none is named and there is no "forward".
Expected<ProgramSummary> summarize_program(const std::string& file, const Blob& bytes,
                                           const std::optional<std::string>& method = {});
// The same as one graph of operators.
Expected<anatomy::Graph> take_apart_program(const std::string& file, const Blob& bytes,
                                            const std::optional<std::string>& method);
std::string to_text(const ProgramSummary& summary, TextStyle style);
std::string to_json(const ProgramSummary& summary);

}  // namespace isthmus
