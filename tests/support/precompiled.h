// What most tests read; see base/precompiled.h.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "ir/precompiled.h"
