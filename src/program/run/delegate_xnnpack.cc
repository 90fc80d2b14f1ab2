// Delegates of XNNPACK, run by the local library.
#include <fmt/format.h>

#include <cstring>

#include "engines/xnnpack/builder.h"
#include "engines/xnnpack/runtime.h"
#include "formats/executorch/xnn_blob.h"
#include "program/run/delegate.h"
#include "program/run/shown_xnnpack.h"

namespace isthmus::run {
namespace {

bool fits(DType dtype, const xnnpack::External& external) {
  const bool is_widened = dtype == DType::kI64 && external.role == xnn::Role::kOutput;
  if (external.datatype == xnn::DataType::kF32) return dtype == DType::kF32;
  if (external.datatype == xnn::DataType::kQI8) return dtype == DType::kI8;
  if (external.datatype == xnn::DataType::kQU8) return dtype == DType::kU8;
  return external.datatype == xnn::DataType::kI32 && (dtype == DType::kI32 || is_widened);
}

// Writers of delegates give a tensor without axes one.
bool is_scalar_of(const LiveTensor& tensor, const xnnpack::Dims& dims) {
  return tensor.sizes.empty() && dims.size() == 1;
}

// The delegate wrote 32-bit integers where the program has 64-bit ones.
void widen(LiveTensor& tensor) {
  if (tensor.dtype != DType::kI64) return;
  for (std::int64_t i = tensor.count(); i-- > 0;) {
    std::int32_t narrow = 0;
    std::memcpy(&narrow, tensor.data + i * 4, sizeof(narrow));
    const std::int64_t wide = narrow;
    std::memcpy(tensor.data + i * 8, &wide, sizeof(wide));
  }
}

class XnnpackDelegate final : public Delegate {
 public:
  XnnpackDelegate(xnnpack::Runtime runtime, bool has_profile, std::optional<ShownXnnpack> shown)
      : runtime_(std::move(runtime)), has_profile_(has_profile), shown_(std::move(shown)) {
    for (const xnnpack::External& external : runtime_.externals()) {
      arguments_.push_back(external.role == xnn::Role::kInternal ? ArgumentUse::kNone
                           : external.role == xnn::Role::kOutput ? ArgumentUse::kWritten
                                                                 : ArgumentUse::kRead);
    }
  }

  std::uint64_t bytes() const override { return runtime_.bytes(); }
  std::span<const ArgumentUse> arguments() const override { return arguments_; }

  Expected<void> run(std::vector<Slot>& slots, std::span<const pte::ValueIndex> args) override {
    return run_shown(slots, args, {});
  }

  Expected<void> run_shown(std::vector<Slot>& slots, std::span<const pte::ValueIndex> args,
                           const ShowValue& show) override {
    const auto& externals = runtime_.externals();
    if (args.size() < externals.size()) {
      return bad_input(fmt::format("it takes {} arguments, not {}", externals.size(), args.size()));
    }
    std::vector<xnnpack::Dims> shapes(externals.size());
    std::vector<std::byte*> buffers(externals.size(), nullptr);
    for (std::size_t i = 0; i < externals.size(); ++i) {
      if (externals[i].role == xnn::Role::kInternal) continue;
      const auto* tensor = std::get_if<LiveTensor>(&slots[args[i]]);
      if (tensor == nullptr || !fits(tensor->dtype, externals[i])) {
        return bad_input(fmt::format("argument {} is not a tensor of {}", i, xnn::name_of(externals[i].datatype)));
      }
      TRY(check_memory(*tensor, externals[i].role == xnn::Role::kOutput, i));
      if (externals[i].role == xnn::Role::kInput) {
        shapes[i] = tensor->memory_sizes();
        if (is_scalar_of(*tensor, externals[i].dims)) shapes[i] = {1};
      }
      buffers[i] = tensor->data;
    }
    shapes = TRY(runtime_.reshape(shapes));
    for (std::size_t i = 0; i < externals.size(); ++i) {
      if (externals[i].role != xnn::Role::kOutput) continue;
      auto& tensor = std::get<LiveTensor>(slots[args[i]]);
      if (is_scalar_of(tensor, shapes[i]) && shapes[i][0] == 1) continue;
      TRY(within(resize_in_memory_order(tensor, shapes[i]), [&] { return fmt::format("argument {}", i); }));
    }
    if (show && shown_) TRY(shown_->run(shapes, buffers, show));
    TRY(runtime_.run(buffers));
    for (std::size_t i = 0; i < externals.size(); ++i) {
      if (externals[i].datatype == xnn::DataType::kI32) widen(std::get<LiveTensor>(slots[args[i]]));
    }
    return {};
  }

  Expected<std::vector<OperatorTime>> profile() const override {
    std::vector<OperatorTime> result;
    if (!has_profile_) return result;
    for (xnnpack::OperatorTime& row : TRY(runtime_.profile())) {
      result.push_back({std::nullopt, std::move(row.name), row.seconds});
    }
    return result;
  }

 private:
  xnnpack::Runtime runtime_;
  bool has_profile_;
  std::optional<ShownXnnpack> shown_;
  std::vector<ArgumentUse> arguments_;
};

}  // namespace

Expected<std::unique_ptr<Delegate>> load_xnnpack(const Blob& blob, const DelegateResources& resources) {
  const xnn::Graph graph = TRY(xnn::read_blob(blob));
  auto runtime = TRY(xnnpack::build(
      graph, resources.named_data,
      {.threads = resources.threads, .max_bytes = resources.max_bytes, .with_profile = resources.with_profile}));
  std::optional<ShownXnnpack> shown;
  if (resources.shows_values) shown = TRY(ShownXnnpack::load(graph, resources.named_data));
  return std::make_unique<XnnpackDelegate>(std::move(runtime), resources.with_profile, std::move(shown));
}

}  // namespace isthmus::run
