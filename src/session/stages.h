// All stages, from a loaded model to the bytes of a program.
#pragma once

#include "session/calibrate.h"
#include "session/compile.h"
#include "session/prepare.h"
#include "session/quantize.h"
#include "session/stage.h"
