// Entry point: everything is in app.cc.
#include "cli/app.h"
#include "cli/guard.h"

int main(int argc, char** argv) {
  isthmus::guard_process();
  return isthmus::run_command_line(argc, argv);
}
