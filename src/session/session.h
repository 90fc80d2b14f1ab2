// The driver: a model and its options go in, and each stage runs when it is first needed, once.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpus.h"
#include "base/diag.h"
#include "base/expected.h"
#include "calibrate/held_out.h"
#include "evaluate/evaluate.h"
#include "evaluate/layer_errors.h"
#include "quantize/config/config.h"
#include "session/data.h"
#include "session/open_model.h"
#include "session/promote.h"
#include "session/stages.h"
#include "targets/finish.h"

namespace isthmus {

struct SessionOptions {
  PrepareOptions prepare;
  QuantConfig config;
  bool is_float = false;
  DataOptions data;
  std::size_t threads = available_cpus();
  std::vector<std::string> input_layouts;  // see input_layout.h
  FinishSettings finish;
};

// How far a stage is, from 0 to 1; false cancels the session.
using SessionProgress = std::function<bool(Stage stage, double fraction)>;

// Whether ranges are needed.
enum class WithData : bool { kNo, kYes };

// For one thread at a time. Nothing is printed, and nothing is shared between sessions.
class Session {
 public:
  // Fails where options contradict each other or the target.
  static Expected<Session> create(std::shared_ptr<const OpenModel> model, SessionOptions options,
                                  SessionProgress progress = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // The graph as text after this stage, which must have one.
  Expected<std::string> text_after(Stage stage, WithData with_data);
  // Up to where each node runs; with data as it will be in the program, without them only types count.
  Expected<void> place(WithData with_data);
  // The same error for every command where a node can run nowhere.
  Expected<void> demand_runnable() const;
  // The statistics of every value; of the samples of one shard, with a manifest, where one is asked for.
  Expected<Statistics> calibrate();
  // The manifest that these would have: samples are read, and nothing is computed.
  Expected<Manifest> shard_manifest();
  // The program, after `place` with data.
  Expected<void> compile();
  // What each value lost, on the reference kernels.
  Expected<std::vector<ValueError>> layer_errors() const;
  // What the outputs would gain by each node alone, the best first.
  Expected<std::vector<NodeGain>> node_gains();

  // Lets go of the samples, but for the few that `layer_errors` takes, and of the progress: for a session whose results
  // are kept.
  void keep_results();

  const std::string& file() const;
  const TargetDesc& target() const;
  const OpenModel& opened() const;
  const Diagnostics& diagnostics() const;
  const std::vector<StageTime>& times() const;
  const Prepared& prepared() const;
  // Null for a model that stays in float.
  const QuantizedModel* quantized() const;
  // What runs, and where.
  const Graph& graph() const;
  const Partitioning& places() const;
  bool has_statistics() const;
  const Statistics& statistics() const;
  // Of the program: its bytes, and how far it is from float on samples that calibration did not see.
  const Compiled& compiled() const;
  const HeldOut& held_out() const;
  const std::optional<Evaluation>& evaluation() const;
  // The nodes that --promote took, in order.
  const std::vector<NodeGain>& promoted() const;

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace isthmus
