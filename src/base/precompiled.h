// What most files of base/ and formats/ read, parsed once for all of them by the dev and release presets.
//
// No file includes this: each includes what it uses, which the other presets and ./dev check hold it to.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/dtype.h"
#include "base/expected.h"
#include "base/tensor.h"
