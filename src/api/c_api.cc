// The public C interface: handles around the C++ one.
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/isthmus.h"
#include "isthmus/isthmus_c.h"

using isthmus::v1::Data;
using isthmus::v1::Error;
using isthmus::v1::Model;
using isthmus::v1::Options;
using isthmus::v1::Program;
using isthmus::v1::Progress;
using isthmus::v1::Report;
using isthmus::v1::Result;
using isthmus::v1::Runner;
using isthmus::v1::Sample;
using isthmus::v1::Statistics;
using isthmus::v1::Tensor;

struct isthmus_error {
  Error error;
};
struct isthmus_model {
  Model model;
};
struct isthmus_options {
  Options options;
  Progress progress;
};
struct isthmus_data {
  Data data;
};
struct isthmus_statistics {
  Statistics statistics;
};
struct isthmus_program {
  Program program;
};
struct isthmus_runner {
  Runner runner;
};
struct isthmus_report {
  Report report;
};

namespace {

std::string text_of(const char* text) { return text == nullptr ? std::string() : std::string(text); }

char* copied(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

void keep(const Error& found, isthmus_error** error) {
  if (error != nullptr) *error = new isthmus_error{found};
}

char* text_or_error(const Result<std::string>& result, isthmus_error** error) {
  if (result) return copied(*result);
  keep(result.error(), error);
  return nullptr;
}

template <class Handle, class T>
Handle* handle_or_error(Result<T> result, isthmus_error** error) {
  if (result) return new Handle{*std::move(result)};
  keep(result.error(), error);
  return nullptr;
}

template <class T>
int done_or_error(const Result<T>& result, isthmus_error** error) {
  if (result) return 1;
  keep(result.error(), error);
  return 0;
}

int shown_or_error(const Result<std::vector<Tensor>>& outputs, isthmus_output output, void* user,
                   isthmus_error** error) {
  for (size_t i = 0; outputs && output != nullptr && i < outputs->size(); ++i) {
    const Tensor& found = (*outputs)[i];
    const isthmus_tensor shown{found.dtype.c_str(), found.sizes.data(), found.sizes.size(), found.data.data(),
                               found.data.size()};
    output(i, &shown, user);
  }
  return done_or_error(outputs, error);
}

Data data_of(const isthmus_data* data) { return data == nullptr ? Data() : data->data; }

Tensor tensor_of(const isthmus_tensor& tensor) {
  const auto* data = static_cast<const std::byte*>(tensor.data);
  return {text_of(tensor.dtype), {tensor.sizes, tensor.sizes + tensor.rank}, {data, data + tensor.bytes}};
}

Sample sample_of(const isthmus_tensor* tensors, size_t count) {
  Sample sample;
  for (size_t i = 0; i < count; ++i) sample.push_back(tensor_of(tensors[i]));
  return sample;
}

}  // namespace

extern "C" {

isthmus_error_code isthmus_error_get_code(const isthmus_error* error) {
  return static_cast<isthmus_error_code>(error->error.code);
}
const char* isthmus_error_message(const isthmus_error* error) { return error->error.message.c_str(); }
void isthmus_error_free(isthmus_error* error) { delete error; }
void isthmus_text_free(char* text) { std::free(text); }

const char* isthmus_version(void) {
  static const std::string version = isthmus::v1::version();
  return version.c_str();
}
char* isthmus_targets_json(void) {
  std::string json = "[";
  for (const std::string& name : isthmus::v1::targets()) json += (json.size() > 1 ? ",\"" : "\"") + name + "\"";
  return copied(json + "]");
}

isthmus_model* isthmus_model_open(const char* path, isthmus_error** error) {
  return handle_or_error<isthmus_model>(Model::open(text_of(path)), error);
}
char* isthmus_model_inspect_json(const isthmus_model* model) { return copied(model->model.inspect()); }
void isthmus_model_free(isthmus_model* model) { delete model; }

isthmus_options* isthmus_options_new(const char* target) {
  auto* options = new isthmus_options();
  options->options.target = text_of(target);
  return options;
}
void isthmus_options_set_config(isthmus_options* options, const char* quant_toml) {
  options->options.config = text_of(quant_toml);
}
void isthmus_options_set_shape(isthmus_options* options, const char* input, const int64_t* sizes, size_t rank) {
  options->options.shapes[text_of(input)] = {sizes, sizes + rank};
}
void isthmus_options_set_batch(isthmus_options* options, int64_t batch) { options->options.batch = batch; }
void isthmus_options_set_max_batch(isthmus_options* options, int64_t max_batch) {
  options->options.max_batch = max_batch;
}
void isthmus_options_set_float(isthmus_options* options, int keep_float) {
  options->options.keep_float = keep_float != 0;
}
void isthmus_options_set_threads(isthmus_options* options, size_t threads) { options->options.threads = threads; }
void isthmus_options_add_input_layout(isthmus_options* options, const char* layout) {
  options->options.input_layouts.push_back(text_of(layout));
}
void isthmus_options_set_finish(isthmus_options* options, const char* name, const char* value) {
  options->options.finish[text_of(name)] = text_of(value);
}
void isthmus_options_set_progress(isthmus_options* options, isthmus_progress progress, void* user) {
  options->progress = {};
  if (progress == nullptr) return;
  options->progress = [progress, user](std::string_view stage, double fraction) {
    return progress(std::string(stage).c_str(), fraction, user) != 0;
  };
}
void isthmus_options_free(isthmus_options* options) { delete options; }

isthmus_data* isthmus_data_new(const char* path) {
  return new isthmus_data{path == nullptr ? Data() : Data::file(path)};
}
int isthmus_data_add_sample(isthmus_data* data, const isthmus_tensor* inputs, size_t count, isthmus_error** error) {
  if (!data->data.path.empty()) {
    keep({isthmus::v1::ErrorCode::kBadInput,
          "data of the path " + data->data.path + " cannot have samples in memory too"},
         error);
    return 0;
  }
  if (!data->data.given) data->data.given.emplace();
  data->data.given->push_back(sample_of(inputs, count));
  return 1;
}
void isthmus_data_add_label(isthmus_data* data, int64_t label) { data->data.labels.push_back(label); }
void isthmus_data_set_max_samples(isthmus_data* data, size_t samples) { data->data.max_samples = samples; }
void isthmus_data_set_sequence(isthmus_data* data, size_t samples) { data->data.sequence = samples; }
void isthmus_data_set_reproducible(isthmus_data* data, int is_reproducible) {
  data->data.is_reproducible = is_reproducible != 0;
}
void isthmus_data_free(isthmus_data* data) { delete data; }

const char* isthmus_report_json(const isthmus_report* report) { return report->report.json().c_str(); }
char* isthmus_report_page(const isthmus_report* report) { return copied(report->report.page()); }
void isthmus_report_free(isthmus_report* report) { delete report; }

isthmus_report* isthmus_check(const isthmus_model* model, const isthmus_options* options, isthmus_error** error) {
  return handle_or_error<isthmus_report>(check(model->model, options->options, options->progress), error);
}
isthmus_report* isthmus_explain(const isthmus_model* model, const isthmus_options* options, const char* node,
                                const isthmus_data* data, isthmus_error** error) {
  const std::optional<Data> given = data == nullptr ? std::nullopt : std::optional(data->data);
  return handle_or_error<isthmus_report>(
      explain(model->model, options->options, text_of(node), given, options->progress), error);
}
isthmus_statistics* isthmus_calibrate(const isthmus_model* model, const isthmus_options* options,
                                      const isthmus_data* data, isthmus_error** error) {
  return handle_or_error<isthmus_statistics>(
      calibrate(model->model, options->options, data_of(data), options->progress), error);
}
size_t isthmus_statistics_samples(const isthmus_statistics* statistics) { return statistics->statistics.samples(); }
int isthmus_statistics_save(const isthmus_statistics* statistics, const char* path, isthmus_error** error) {
  return done_or_error(statistics->statistics.save(text_of(path)), error);
}
void isthmus_statistics_free(isthmus_statistics* statistics) { delete statistics; }

isthmus_program* isthmus_compile(const isthmus_model* model, const isthmus_options* options, const isthmus_data* data,
                                 isthmus_error** error) {
  return handle_or_error<isthmus_program>(compile(model->model, options->options, data_of(data), options->progress),
                                          error);
}
isthmus_program* isthmus_compile_with(const isthmus_model* model, const isthmus_options* options,
                                      const isthmus_statistics* statistics, isthmus_error** error) {
  return handle_or_error<isthmus_program>(
      compile(model->model, options->options, statistics->statistics, options->progress), error);
}
isthmus_program* isthmus_program_open(const char* path, isthmus_error** error) {
  return handle_or_error<isthmus_program>(Program::open(text_of(path)), error);
}
const void* isthmus_program_bytes(const isthmus_program* program, size_t* size) {
  const std::span<const std::byte> bytes = program->program.bytes();
  if (size != nullptr) *size = bytes.size();
  return bytes.data();
}
isthmus_report* isthmus_program_report(const isthmus_program* program) {
  return new isthmus_report{program->program.report()};
}
char* isthmus_program_inspect_json(const isthmus_program* program, isthmus_error** error) {
  return text_or_error(program->program.inspect(), error);
}
int isthmus_program_save(const isthmus_program* program, const char* path, isthmus_error** error) {
  return done_or_error(program->program.save(text_of(path)), error);
}
int isthmus_program_run(const isthmus_program* program, const isthmus_tensor* inputs, size_t count,
                        isthmus_output output, void* user, isthmus_error** error) {
  return shown_or_error(program->program.run(sample_of(inputs, count)), output, user, error);
}
isthmus_report* isthmus_program_evaluate(const isthmus_program* program, const isthmus_model* reference,
                                         const isthmus_data* data, const isthmus_options* options,
                                         isthmus_error** error) {
  const isthmus_options wanted = options == nullptr ? isthmus_options() : *options;
  return handle_or_error<isthmus_report>(
      program->program.evaluate(reference->model, data_of(data), wanted.progress, wanted.options.threads), error);
}
void isthmus_program_free(isthmus_program* program) { delete program; }

isthmus_runner* isthmus_runner_new(const isthmus_program* program, isthmus_error** error) {
  return handle_or_error<isthmus_runner>(Runner::create(program->program), error);
}
int isthmus_runner_run(isthmus_runner* runner, const isthmus_tensor* inputs, size_t count, isthmus_output output,
                       void* user, isthmus_error** error) {
  return shown_or_error(runner->runner.run(sample_of(inputs, count)), output, user, error);
}
void isthmus_runner_reset(isthmus_runner* runner) { runner->runner.reset(); }
void isthmus_runner_free(isthmus_runner* runner) { delete runner; }

}  // extern "C"
