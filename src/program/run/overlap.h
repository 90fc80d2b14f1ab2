// What may lie in the same memory: nothing that a delegate writes, and no tensor that is still to be read.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/expected.h"
#include "base/union_find.h"
#include "program/run/delegate.h"
#include "program/run/state.h"

namespace isthmus::run {

// That a delegate shares what it writes with none of its other arguments.
Expected<void> check_arguments(std::span<const Slot> slots, std::span<const pte::ValueIndex> args,
                               std::span<const ArgumentUse> uses);

// Follows which tensor wrote each byte last: no instruction may write over a tensor that is read afterwards. Memory is
// shared on purpose where a call writes just where it reads: a view, or a change in place.
class LiveTensors {
 public:
  // Of a method whose inputs and states are written.
  explicit LiveTensors(const Method::State& state);

  // Before the instruction runs.
  Expected<void> step(const pte::Instruction& instruction);
  // After the last one: outputs and states are still to be read.
  Expected<void> end();

 private:
  struct Piece {
    std::uintptr_t end;
    pte::ValueIndex writer;
  };
  template <class Visit>
  void each_tensor(pte::ValueIndex index, Visit visit) const;
  template <class Visit>
  void each_state(Visit visit) const;
  Expected<void> read(pte::ValueIndex index);
  void write(pte::ValueIndex index);
  void cut(std::uintptr_t at);
  Expected<void> call(std::span<const pte::ValueIndex> reads, std::span<const pte::ValueIndex> writes);
  Expected<void> step(const pte::KernelCall& call);
  Expected<void> step(const pte::DelegateCall& call);
  Expected<void> step(const pte::MoveCall& call);
  Expected<void> step(const pte::FreeCall& call);
  Expected<void> step(const pte::JumpFalseCall& call);

  const Method::State& state_;
  UnionFind same_;  // tensors that share their memory on purpose
  std::vector<bool> is_defined_;
  std::map<std::uintptr_t, Piece> pieces_;  // by first byte
};

// Whether each run executes the same calls on the same memory: nothing jumps, moves or frees.
bool is_straight(const pte::Plan& plan);

// All instructions of a straight plan; others are followed while they run.
Expected<void> check_live_tensors(const Method::State& state);

}  // namespace isthmus::run
