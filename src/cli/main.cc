// Entry point: everything is in app.cc.
#include "cli/app.h"

int main(int argc, char** argv) { return isthmus::run_command_line(argc, argv); }
