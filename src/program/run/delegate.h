// What runs the delegates of a program, by the backend that they are for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "formats/executorch/pte.h"
#include "program/run/method.h"
#include "targets/host/slot.h"

struct pthreadpool;

namespace isthmus::run {

using host::LiveTensor;
using host::Slot;

// Called with a value of a delegate's graph, by its index there.
using ShowValue = std::function<void(std::uint32_t value, const Tensor& elements)>;

enum class ArgumentUse : std::uint8_t { kNone, kRead, kWritten };

class Delegate {
 public:
  Delegate() = default;
  Delegate(const Delegate&) = delete;
  Delegate& operator=(const Delegate&) = delete;
  virtual ~Delegate() = default;

  // What its values take at their declared shapes, and what it keeps besides.
  virtual std::uint64_t bytes() const = 0;

  // By argument of a call. Further ones are not used.
  virtual std::span<const ArgumentUse> arguments() const = 0;

  // Nothing is known of the arguments but that there are such slots, and that none overlaps one that is written: how
  // many and what they are is checked here.
  virtual Expected<void> run(std::vector<Slot>& slots, std::span<const pte::ValueIndex> args) = 0;

  // The same, and the values of its graph are shown where it was loaded to show them.
  virtual Expected<void> run_shown(std::vector<Slot>& slots, std::span<const pte::ValueIndex> args, const ShowValue&) {
    return run(slots, args);
  }

  // How long each operator of the last run took, where it was loaded with a profile and knows; else empty.
  virtual Expected<std::vector<OperatorTime>> profile() const { return std::vector<OperatorTime>(); }
};

struct DelegateResources {
  pthreadpool* threads = nullptr;  // the caller's; null: the calling thread alone
  std::uint64_t max_bytes = 0;
  std::uint64_t max_work = 0;                                         // of one call, where it is known beforehand
  std::function<std::optional<Blob>(const std::string&)> named_data;  // by key; only while loading
  bool with_profile = false;
  bool shows_values = false;
};

struct DelegateKind {
  std::string_view backend;  // the name by which program files call it
  Expected<std::unique_ptr<Delegate>> (*load)(const Blob& blob, const DelegateResources& resources);
};

// All that this machine runs.
std::span<const DelegateKind> delegate_kinds();
// Null if there is none of this name.
const DelegateKind* find_delegate_kind(std::string_view backend);

Expected<std::unique_ptr<Delegate>> load_xnnpack(const Blob& blob, const DelegateResources& resources);
Expected<std::unique_ptr<Delegate>> load_tosa(const Blob& blob, const DelegateResources& resources);

}  // namespace isthmus::run
