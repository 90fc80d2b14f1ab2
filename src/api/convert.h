// Between the public types and those of the library.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "interpret/tensor.h"
#include "isthmus/isthmus.h"
#include "program/run/method.h"
#include "session/data.h"
#include "session/open_model.h"
#include "session/session.h"
#include "stats/statistics.h"

namespace isthmus {

// Loaded methods of one program that wait for the next run; several threads may run it at once.
class MethodPool {
 public:
  // At its initial state.
  Expected<run::Method> take(const Blob& program);
  void give_back(run::Method method);

 private:
  std::mutex mutex_;
  std::vector<run::Method> idle_;
};

v1::Error public_error(const Error& error, bool is_cancelled = false);

Expected<Tensor> tensor_of(const v1::Tensor& tensor);
Expected<std::vector<Tensor>> tensors_of(const v1::Sample& sample);
v1::Tensor public_tensor(const Tensor& tensor);
// Outputs that are not tensors are left out.
std::vector<v1::Tensor> public_tensors(const std::vector<std::optional<Tensor>>& tensors);

Expected<DataOptions> data_options(const v1::Data& data);
Expected<PrepareOptions> prepare_options(const v1::Options& options);
Expected<SessionOptions> session_options(const v1::Options& options, const v1::Data& data);

}  // namespace isthmus

namespace isthmus::v1 {

struct Model::State {
  std::shared_ptr<const OpenModel> opened;
};
struct Statistics::State {
  std::shared_ptr<const isthmus::Statistics> statistics;
};
struct Report::State {
  std::string json;
  std::function<std::string()> make_page;  // what it holds is let go when the page is there
  std::mutex mutex;                        // of both
  std::string page;
};
struct Program::State {
  OpenFile file;  // what ExecuTorch loads
  Blob runnable;  // what this machine runs
  Report report;
  std::shared_ptr<MethodPool> methods;
};
struct Runner::State {
  run::Method method;
};

}  // namespace isthmus::v1
