// What the devices demand of the operators that they are given, each demand with the sentence that is printed when it
// is not met and that makes the table of what is supported.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/reason.h"
#include "targets/ethos_u/device.h"
#include "targets/ethos_u/forms/forms.h"

namespace isthmus::ethos_u {

// Of U55, where a rewrite aims at them.
inline constexpr std::int64_t kMaxStride = 3;
inline constexpr std::int64_t kMaxFilterHeight = 64;
inline constexpr std::int64_t kMaxCount = 65536;  // along an axis
// Of level 8K.
inline constexpr std::size_t kMaxRank = 6;
inline constexpr std::size_t kMaxCatInputs = 64;

struct Limit {
  tosa::Op op = tosa::Op::kInvalid;  // as it is: every operator
  Devices devices = kEverywhere;
  ReasonCode code;
  std::string_view sentence;  // "each stride is 1 to 3"
  // What was found instead; nothing where the demand is met.
  std::optional<std::string> (*violation)(const TosaForm& form);
};

std::span<const Limit> limits();

// The first limit that the operator does not keep.
std::optional<Reason> refusal(const TosaForm& form, Device device);

// Whether the device has the operator at all.
bool exists(tosa::Op op, Device device);

}  // namespace isthmus::ethos_u
