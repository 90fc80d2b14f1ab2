// What every command reads; see base/precompiled.h.
#pragma once

#include "cli/commands.h"
#include "ir/precompiled.h"
