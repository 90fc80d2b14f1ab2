/* What firmware sees of the model: here it writes the program back, so that a test can compare it. */
#include <stdio.h>

#include "model.h"

int main(void) {
  fprintf(stderr, "%u bytes, %d input elements of scale %g\n", (unsigned)model_bytes, MODEL_INPUT_0_ELEMENTS,
          (double)MODEL_INPUT_0_SCALE);
  return fwrite(model, 1, model_bytes, stdout) == model_bytes ? 0 : 1;
}
