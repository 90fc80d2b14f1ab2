// Isthmus as a library: compiles and quantizes models for edge devices.
//
//   auto model = isthmus::v1::Model::open("model.pt2");
//   if (!model) return complain(model.error().message);
//   isthmus::v1::Options options;
//   options.target = "xnnpack";
//   auto program = isthmus::v1::compile(*model, options, isthmus::v1::Data::file("calib.npz"));
//   if (!program) return complain(program.error().message);
//   program->save("model.pte");
//
// No function prints, throws or ends the process, and there is no global state. Objects are cheap to copy: copies share
// what they hold, which never changes. Functions on different objects, and const functions on the same object, may run
// on several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#ifndef ISTHMUS_EXPORT
#define ISTHMUS_EXPORT __attribute__((visibility("default")))
#endif

namespace isthmus::v1 {

enum class ErrorCode : std::uint8_t {
  kBadInput,     // a file or an argument that is not what it should be
  kEnvironment,  // a file that cannot be opened, a full disk
  kUnsupported,  // well-formed input that cannot be compiled
  kCancelled,    // a progress callback returned false
};

struct Error {
  ErrorCode code = ErrorCode::kBadInput;
  std::string message;  // what went wrong and where, for people
};

// A value or an error. The value is there only where there is no error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}      // NOLINT: implicit, from what a function returns
  Result(Error error) : content_(std::move(error)) {}  // NOLINT

  explicit operator bool() const { return content_.index() == 0; }
  T& operator*() { return std::get<0>(content_); }
  const T& operator*() const { return std::get<0>(content_); }
  T* operator->() { return &std::get<0>(content_); }
  const T* operator->() const { return &std::get<0>(content_); }
  const Error& error() const { return std::get<1>(content_); }

 private:
  std::variant<T, Error> content_;
};
struct Done {};  // the value of a function that has no other

// Elements in row-major order without gaps.
struct ISTHMUS_EXPORT Tensor {
  std::string dtype = "f32";  // f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool
  std::vector<std::int64_t> sizes;
  std::vector<std::byte> data;

  static Tensor of(std::span<const float> numbers, std::vector<std::int64_t> sizes);
  std::vector<float> floats() const;  // empty where the elements are not f32
};
using Sample = std::vector<Tensor>;  // one tensor for each input of the model

// What calibration or an evaluation runs on.
class ISTHMUS_EXPORT Data {
 public:
  Data() = default;  // the example inputs in the model's file: one sample, not fit for use
  // An .npz, a folder of .npy and .npz files, or a .stats file.
  static Data file(std::string path);
  static Data samples(std::vector<Sample> samples);

  std::string path;
  std::optional<std::vector<Sample>> given;
  std::vector<std::int64_t> labels;  // of the samples given: a class for each row, for an evaluation
  std::optional<std::size_t> max_samples;
  std::optional<std::size_t> sequence;  // of a model with state: its state is reset after this many samples
  bool is_reproducible = false;         // the same bits on every CPU
};

struct Options {
  std::string target;                                       // see `targets`
  std::map<std::string, std::vector<std::int64_t>> shapes;  // of inputs by name
  std::optional<std::int64_t> batch;                        // the first size of every input
  std::optional<std::int64_t> max_batch;
  std::string config;                         // the text of a quant.toml
  bool keep_float = false;                    // do not quantize
  std::vector<std::string> input_layouts;     // "nhwc", "NAME=nhwc"
  std::map<std::string, std::string> finish;  // options of the device's own compiler: {"--vela", "/opt/vela"}
  std::optional<std::size_t> threads;         // that run samples; all CPUs by default
};

// Called with the name of a stage and how far it is, from 0 to 1. False cancels. Never called by two threads at once.
using Progress = std::function<bool(std::string_view stage, double fraction)>;

// A model file that is open: a torch.export archive or an ONNX model.
class ISTHMUS_EXPORT Model {
 public:
  static Result<Model> open(const std::string& path);
  const std::string& path() const;
  std::string inspect() const;  // JSON: inputs, outputs, operators

  struct State;  // of the library
  explicit Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const State& state() const { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

// What was found.
class ISTHMUS_EXPORT Report {
 public:
  // The object that the command line prints with --json. Empty of a program that was opened.
  const std::string& json() const;
  // The HTML page that the command line writes with --report; empty where `json` is. It is made when it is first asked
  // for, which runs the reference kernels where there were data; until then the report holds the graphs and statistics.
  std::string page() const;

  struct State;
  explicit Report(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

// What calibration measured. Belongs to one model and target.
class ISTHMUS_EXPORT Statistics {
 public:
  std::uint64_t samples() const;
  std::vector<std::byte> bytes() const;  // of a .stats file
  Result<Done> save(const std::string& path) const;

  struct State;
  explicit Statistics(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const State& state() const { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

// A program file that ExecuTorch loads, and how it came about.
class ISTHMUS_EXPORT Program {
 public:
  static Result<Program> open(const std::string& path);
  std::span<const std::byte> bytes() const;
  // Delegates, fallbacks to the CPU, parameters of inputs and outputs, SQNR. Empty for a program that was opened.
  Report report() const;
  Result<Done> save(const std::string& path) const;  // an existing file survives a failure
  // JSON: inputs, outputs, delegates, host operators, memory.
  Result<std::string> inspect() const;
  // Each call begins with the initial state of the model; a Runner keeps it.
  Result<std::vector<Tensor>> run(const Sample& inputs) const;
  // Accuracy, agreement and SQNR against the model. `threads` run samples; all CPUs by default.
  Result<Report> evaluate(const Model& reference, const Data& data, const Progress& progress = {},
                          std::optional<std::size_t> threads = {}) const;

  struct State;
  explicit Program(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const State& state() const { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

// Runs a program as a device does: what its states hold after a call is there in the next one. For one thread at a
// time.
class ISTHMUS_EXPORT Runner {
 public:
  static Result<Runner> create(const Program& program);
  Result<std::vector<Tensor>> run(const Sample& inputs);
  void reset();  // every state has its initial value again

  struct State;  // copies of a runner are the same runner
  explicit Runner(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

ISTHMUS_EXPORT std::string version();
ISTHMUS_EXPORT std::vector<std::string> targets();

// Where each node runs and why; needs no data and takes milliseconds.
ISTHMUS_EXPORT Result<Report> check(const Model& model, const Options& options, const Progress& progress = {});
// Where the nodes run that `node` means, in which precision, who shares their scale; an overview where it is empty.
// Without data there are no numbers. The page is that of `check`, open at the node.
ISTHMUS_EXPORT Result<Report> explain(const Model& model, const Options& options, const std::string& node = {},
                                      const std::optional<Data>& data = {}, const Progress& progress = {});
ISTHMUS_EXPORT Result<Statistics> calibrate(const Model& model, const Options& options, const Data& data,
                                            const Progress& progress = {});
ISTHMUS_EXPORT Result<Program> compile(const Model& model, const Options& options, const Data& data,
                                       const Progress& progress = {});
ISTHMUS_EXPORT Result<Program> compile(const Model& model, const Options& options, const Statistics& statistics,
                                       const Progress& progress = {});
// The model itself in float, by the reference kernels.
ISTHMUS_EXPORT Result<std::vector<Tensor>> run(const Model& model, const Sample& inputs);

}  // namespace isthmus::v1
