// What most files above ir/ read; see base/precompiled.h.
#pragma once

#include "base/precompiled.h"
#include "ir/graph.h"
#include "ir/text.h"
#include "ir/verify.h"
