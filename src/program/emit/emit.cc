// Memory first, then bytes.
#include "program/emit/emit.h"

namespace isthmus {

Expected<Emitted> emit(pte::Program program) {
  Emitted result;
  result.memory = plan_memory(program.plans[0]);
  result.bytes = TRY(pte::write_program(program));
  return result;
}

}  // namespace isthmus
