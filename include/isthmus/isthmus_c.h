/* Isthmus as a library for C and other languages: the functions of isthmus.h with handles and texts.
 *
 * A function that can fail returns NULL or 0 and, where `error` is not NULL, leaves an error there that the caller
 * frees. Texts that a function returns as char* are the caller's too: isthmus_text_free. const char* belongs to the
 * handle it came from. Nothing prints, and nothing is shared between handles: different threads may use different
 * handles, and the same one for functions that take it as const.
 */
#ifndef ISTHMUS_C_H
#define ISTHMUS_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct isthmus_error isthmus_error;
typedef struct isthmus_model isthmus_model;
typedef struct isthmus_options isthmus_options;
typedef struct isthmus_data isthmus_data;
typedef struct isthmus_statistics isthmus_statistics;
typedef struct isthmus_program isthmus_program;
typedef struct isthmus_runner isthmus_runner;
typedef struct isthmus_report isthmus_report;

typedef enum {
  ISTHMUS_BAD_INPUT = 0,
  ISTHMUS_ENVIRONMENT = 1,
  ISTHMUS_UNSUPPORTED = 2,
  ISTHMUS_CANCELLED = 3
} isthmus_error_code;

/* How far a stage is, from 0 to 1. 0 cancels, anything else goes on. */
typedef int (*isthmus_progress)(const char* stage, double fraction, void* user);

/* Elements in row-major order without gaps. `dtype` is a name such as "f32", "i8", "i64". */
typedef struct {
  const char* dtype;
  const int64_t* sizes;
  size_t rank;
  const void* data;
  size_t bytes;
} isthmus_tensor;
/* Called with each output of a run; the tensor lives as long as the call. */
typedef void (*isthmus_output)(size_t index, const isthmus_tensor* tensor, void* user);

isthmus_error_code isthmus_error_get_code(const isthmus_error* error);
const char* isthmus_error_message(const isthmus_error* error);
void isthmus_error_free(isthmus_error* error);
void isthmus_text_free(char* text);

const char* isthmus_version(void);
char* isthmus_targets_json(void);

isthmus_model* isthmus_model_open(const char* path, isthmus_error** error);
char* isthmus_model_inspect_json(const isthmus_model* model);
void isthmus_model_free(isthmus_model* model);

/* Options of the model and its target. A value that does not fit is reported by the function that uses the options. */
isthmus_options* isthmus_options_new(const char* target);
void isthmus_options_set_config(isthmus_options* options, const char* quant_toml);
void isthmus_options_set_shape(isthmus_options* options, const char* input, const int64_t* sizes, size_t rank);
void isthmus_options_set_batch(isthmus_options* options, int64_t batch);
void isthmus_options_set_max_batch(isthmus_options* options, int64_t max_batch);
void isthmus_options_set_float(isthmus_options* options, int keep_float);
void isthmus_options_set_threads(isthmus_options* options, size_t threads);
void isthmus_options_add_input_layout(isthmus_options* options, const char* layout);
void isthmus_options_set_finish(isthmus_options* options, const char* name, const char* value);
void isthmus_options_set_progress(isthmus_options* options, isthmus_progress progress, void* user);
void isthmus_options_free(isthmus_options* options);

/* What calibration or an evaluation runs on: a path as in --calibrate, or samples in memory. With neither it is the
 * example inputs of the model. */
isthmus_data* isthmus_data_new(const char* path);
/* Copies one sample: a tensor for each input of the model. */
int isthmus_data_add_sample(isthmus_data* data, const isthmus_tensor* inputs, size_t count, isthmus_error** error);
/* The class of the next row of the samples in memory, for an evaluation. */
void isthmus_data_add_label(isthmus_data* data, int64_t label);
void isthmus_data_set_max_samples(isthmus_data* data, size_t samples);
void isthmus_data_set_sequence(isthmus_data* data, size_t samples);
void isthmus_data_set_reproducible(isthmus_data* data, int is_reproducible);
void isthmus_data_free(isthmus_data* data);

/* What was found, as the JSON object of --json and as the HTML page of --report. Both are empty for a program that was
 * opened. The page is made when it is first asked for, which runs the reference kernels where there were data. */
const char* isthmus_report_json(const isthmus_report* report);
char* isthmus_report_page(const isthmus_report* report);
void isthmus_report_free(isthmus_report* report);

/* `data` may be NULL: the example inputs of the model, or no data where that has a meaning. */
isthmus_report* isthmus_check(const isthmus_model* model, const isthmus_options* options, isthmus_error** error);
isthmus_report* isthmus_explain(const isthmus_model* model, const isthmus_options* options, const char* node,
                                const isthmus_data* data, isthmus_error** error);
isthmus_statistics* isthmus_calibrate(const isthmus_model* model, const isthmus_options* options,
                                      const isthmus_data* data, isthmus_error** error);
size_t isthmus_statistics_samples(const isthmus_statistics* statistics);
int isthmus_statistics_save(const isthmus_statistics* statistics, const char* path, isthmus_error** error);
void isthmus_statistics_free(isthmus_statistics* statistics);

isthmus_program* isthmus_compile(const isthmus_model* model, const isthmus_options* options, const isthmus_data* data,
                                 isthmus_error** error);
isthmus_program* isthmus_compile_with(const isthmus_model* model, const isthmus_options* options,
                                      const isthmus_statistics* statistics, isthmus_error** error);
isthmus_program* isthmus_program_open(const char* path, isthmus_error** error);
const void* isthmus_program_bytes(const isthmus_program* program, size_t* size);
isthmus_report* isthmus_program_report(const isthmus_program* program);
char* isthmus_program_inspect_json(const isthmus_program* program, isthmus_error** error);
int isthmus_program_save(const isthmus_program* program, const char* path, isthmus_error** error);
/* Each call begins with the initial state of the model; a runner keeps it. */
int isthmus_program_run(const isthmus_program* program, const isthmus_tensor* inputs, size_t count,
                        isthmus_output output, void* user, isthmus_error** error);
/* Of the options only the threads and the progress count; NULL: neither. */
isthmus_report* isthmus_program_evaluate(const isthmus_program* program, const isthmus_model* reference,
                                         const isthmus_data* data, const isthmus_options* options,
                                         isthmus_error** error);
void isthmus_program_free(isthmus_program* program);

/* What the states of the program hold after a run is there in the next one. For one thread at a time; the program may
 * be freed before it. */
isthmus_runner* isthmus_runner_new(const isthmus_program* program, isthmus_error** error);
int isthmus_runner_run(isthmus_runner* runner, const isthmus_tensor* inputs, size_t count, isthmus_output output,
                       void* user, isthmus_error** error);
void isthmus_runner_reset(isthmus_runner* runner);
void isthmus_runner_free(isthmus_runner* runner);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* ISTHMUS_C_H */
