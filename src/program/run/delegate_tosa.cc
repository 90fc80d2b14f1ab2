// Delegates that hold a TOSA graph, run by the interpreter.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "formats/tosa/tosa.h"
#include "program/run/delegate.h"
#include "program/run/shown_tosa.h"
#include "targets/tosa/interpreter.h"

namespace isthmus::run {
namespace {

class TosaDelegate final : public Delegate {
 public:
  TosaDelegate(tosa::Interpreter interpreter, std::optional<ShownTosa> shown)
      : interpreter_(std::move(interpreter)), shown_(std::move(shown)) {
    arguments_.resize(interpreter_.inputs().size(), ArgumentUse::kRead);
    arguments_.resize(arguments_.size() + interpreter_.outputs().size(), ArgumentUse::kWritten);
  }

  std::uint64_t bytes() const override { return interpreter_.memory_bytes() + interpreter_.prepared_bytes(); }
  std::span<const ArgumentUse> arguments() const override { return arguments_; }

  Expected<void> run(std::vector<Slot>& slots, std::span<const pte::ValueIndex> args) override {
    return run_shown(slots, args, {});
  }

  Expected<void> run_shown(std::vector<Slot>& slots, std::span<const pte::ValueIndex> args,
                           const ShowValue& show) override {
    const std::vector<tosa::Port>& inputs = interpreter_.inputs();
    const std::vector<tosa::Port>& outputs = interpreter_.outputs();
    if (args.size() != inputs.size() + outputs.size()) {
      return bad_input(fmt::format("it takes {} arguments, {} inputs and {} outputs, not {}",
                                   inputs.size() + outputs.size(), inputs.size(), outputs.size(), args.size()));
    }
    std::vector<Tensor> given;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const LiveTensor& tensor = *TRY(argument(slots[args[i]], inputs[i], false, i));
      given.push_back(TRY(read(in_memory_order(tensor))));
      TRY(check_sizes(given.back().sizes(), inputs[i], i));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::size_t at = inputs.size() + i;
      LiveTensor& tensor = *TRY(argument(slots[args[at]], outputs[i], true, at));
      const std::vector<std::size_t> sizes(outputs[i].sizes.begin(), outputs[i].sizes.end());
      TRY(within(resize_in_memory_order(tensor, sizes), [&] { return fmt::format("argument {}", at); }));
    }
    if (show && shown_) TRY(shown_->run(given, show));
    const std::vector<Tensor> results = TRY(interpreter_.run(given));
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto& tensor = std::get<LiveTensor>(slots[args[inputs.size() + i]]);
      if (results[i].count() != 0) std::memcpy(tensor.data, results[i].bytes().data(), results[i].bytes().size());
    }
    return {};
  }

 private:
  static Expected<LiveTensor*> argument(Slot& slot, const tosa::Port& port, bool is_written, std::size_t at) {
    auto* tensor = std::get_if<LiveTensor>(&slot);
    if (tensor == nullptr || !port.takes(tensor->dtype)) {
      return bad_input(fmt::format("argument {} is not a tensor of {}", at, name_of(port.dtype)));
    }
    TRY(check_memory(*tensor, is_written, at));
    return tensor;
  }
  static Expected<void> check_sizes(const std::vector<std::int64_t>& sizes, const tosa::Port& port, std::size_t at) {
    if (sizes == port.sizes) return {};
    return bad_input(fmt::format("argument {} has the sizes [{}] in memory, not [{}]", at, fmt::join(sizes, ","),
                                 fmt::join(port.sizes, ",")));
  }

  tosa::Interpreter interpreter_;
  std::optional<ShownTosa> shown_;
  std::vector<ArgumentUse> arguments_;
};

}  // namespace

Expected<std::unique_ptr<Delegate>> load_tosa(const Blob& blob, const DelegateResources& resources) {
  tosa::Graph graph = TRY(tosa::read_graph(blob));
  const tosa::LoadOptions options{
      .threads = resources.threads, .max_bytes = resources.max_bytes, .max_work = resources.max_work};
  std::optional<ShownTosa> shown;
  if (resources.shows_values) shown = TRY(ShownTosa::load(graph, options));
  auto interpreter = TRY(tosa::Interpreter::load(std::move(graph), options));
  return std::make_unique<TosaDelegate>(std::move(interpreter), std::move(shown));
}

}  // namespace isthmus::run
