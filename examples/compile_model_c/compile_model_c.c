/* The same from C: compile_model_c MODEL TARGET CALIBRATION OUT.pte */
#include <isthmus/isthmus_c.h>
#include <stdio.h>
#include <stdlib.h>

static int complain(isthmus_error* error) {
  fprintf(stderr, "error %d: %s\n", (int)isthmus_error_get_code(error), isthmus_error_message(error));
  isthmus_error_free(error);
  return 1;
}

static int show_stage(const char* stage, double fraction, void* user) {
  size_t* calls = (size_t*)user;
  (void)stage;
  (void)fraction;
  ++*calls;
  return 1; /* 0 would cancel */
}

int main(int argc, char** argv) {
  isthmus_error* error = NULL;
  isthmus_model* model = NULL;
  isthmus_options* options = NULL;
  isthmus_data* data = NULL;
  isthmus_program* program = NULL;
  isthmus_report* report = NULL;
  size_t calls = 0;
  int code = 0;
  if (argc != 5) {
    fprintf(stderr, "usage: compile_model_c MODEL TARGET CALIBRATION OUT.pte\n");
    return 2;
  }
  model = isthmus_model_open(argv[1], &error);
  if (model == NULL) return complain(error);
  options = isthmus_options_new(argv[2]);
  isthmus_options_set_progress(options, show_stage, &calls);
  data = isthmus_data_new(argv[3]);
  program = isthmus_compile(model, options, data, &error);
  if (program != NULL && isthmus_program_save(program, argv[4], &error)) {
    report = isthmus_program_report(program);
    printf("%s", isthmus_report_json(report));
    isthmus_report_free(report);
    fprintf(stderr, "%u calls of progress\n", (unsigned)calls);
  } else {
    code = complain(error);
  }
  isthmus_program_free(program);
  isthmus_data_free(data);
  isthmus_options_free(options);
  isthmus_model_free(model);
  return code;
}
