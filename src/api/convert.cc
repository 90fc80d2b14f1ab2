// Checks what callers give before it becomes a tensor or an option.
#include "api/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "quantize/config/config.h"
#include "targets/registry.h"

namespace isthmus {

Expected<run::Method> MethodPool::take(const Blob& program) {
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      run::Method method = std::move(idle_.back());
      idle_.pop_back();
      method.reset();
      return method;
    }
  }
  return run::Method::load(program);
}

void MethodPool::give_back(run::Method method) {
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(method));
}

v1::Error public_error(const Error& error, bool is_cancelled) {
  if (is_cancelled) return {v1::ErrorCode::kCancelled, "cancelled by the caller"};
  switch (error.kind) {
    case ErrorKind::kBadInput:
      return {v1::ErrorCode::kBadInput, error.text()};
    case ErrorKind::kEnvironment:
      return {v1::ErrorCode::kEnvironment, error.text()};
    case ErrorKind::kUnsupported:
      return {v1::ErrorCode::kUnsupported, error.text()};
  }
  return {v1::ErrorCode::kBadInput, error.text()};
}

Expected<Tensor> tensor_of(const v1::Tensor& tensor) {
  const std::optional<DType> dtype = dtype_from_name(tensor.dtype);
  if (!dtype) return bad_input(fmt::format("no element type is called {}", tensor.dtype));
  const TensorView view =
      TRY(make_tensor_view(*dtype, tensor.sizes, row_major_strides(tensor.sizes), 0, Blob::owning(tensor.data)));
  const std::size_t wanted = static_cast<std::size_t>(view.element_count()) * size_of(*dtype);
  if (tensor.data.size() != wanted) {
    return bad_input(fmt::format("a tensor of {} bytes was given {}", wanted, tensor.data.size()));
  }
  return Tensor::from(view);
}

Expected<std::vector<Tensor>> tensors_of(const v1::Sample& sample) {
  std::vector<Tensor> tensors;
  for (const v1::Tensor& tensor : sample) {
    tensors.push_back(TRY(within(tensor_of(tensor), [&] { return fmt::format("input {}", tensors.size()); })));
  }
  return tensors;
}

v1::Tensor public_tensor(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  return {std::string(name_of(tensor.dtype())), tensor.sizes(), {bytes.begin(), bytes.end()}};
}

std::vector<v1::Tensor> public_tensors(const std::vector<std::optional<Tensor>>& tensors) {
  std::vector<v1::Tensor> result;
  for (const std::optional<Tensor>& tensor : tensors) {
    if (tensor) result.push_back(public_tensor(*tensor));
  }
  return result;
}

Expected<DataOptions> data_options(const v1::Data& data) {
  DataOptions options;
  options.path = data.path;
  options.max_samples = data.max_samples;
  options.sequence = data.sequence;
  options.is_reproducible = data.is_reproducible;
  options.labels = data.labels;
  if (data.given) {
    options.given.emplace();
    for (const v1::Sample& sample : *data.given) {
      options.given->push_back(
          TRY(within(tensors_of(sample), [&] { return fmt::format("sample {}", options.given->size()); })));
    }
  }
  return options;
}

Expected<PrepareOptions> prepare_options(const v1::Options& options) {
  PrepareOptions result;
  result.target = find_target(options.target);
  if (result.target == nullptr) return bad_input(fmt::format("no target is called {}", options.target));
  result.shapes.inputs = options.shapes;
  result.shapes.batch = options.batch;
  result.shapes.max_batch = options.max_batch;
  return result;
}

Expected<SessionOptions> session_options(const v1::Options& options, const v1::Data& data) {
  SessionOptions result;
  result.prepare = TRY(prepare_options(options));
  if (!options.config.empty()) result.config = TRY(read_config(options.config, "the configuration"));
  result.is_float = options.keep_float;
  result.data = TRY(data_options(data));
  if (options.threads) result.threads = std::clamp<std::size_t>(*options.threads, 1, 1024);
  result.input_layouts = options.input_layouts;
  result.finish.insert(options.finish.begin(), options.finish.end());
  return result;
}

}  // namespace isthmus
