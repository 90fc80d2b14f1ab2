// A table of fixed size: handlers of signals read it without locks and without memory of the heap.
#include "base/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <utility>

namespace isthmus {
namespace {

enum class State : std::uint8_t { kFree, kChanging, kPath, kGroup };
struct Slot {
  std::atomic<State> state = State::kFree;
  std::array<char, PATH_MAX> path{};
  pid_t group = 0;
};
constexpr std::size_t kSlots = 32;
std::array<Slot, kSlots> slots;
static_assert(std::atomic<State>::is_always_lock_free);

// The slot that is ours to fill, if any is free.
Slot* take_slot(std::size_t& index) {
  for (std::size_t i = 0; i < kSlots; ++i) {
    State expected = State::kFree;
    if (!slots[i].state.compare_exchange_strong(expected, State::kChanging)) continue;
    index = i;
    return &slots[i];
  }
  return nullptr;
}

// As the kernel writes it: opendir takes memory of the heap, which a handler must not.
struct Entry {
  std::uint64_t inode;
  std::int64_t next;
  std::uint16_t bytes;
  std::uint8_t type;
  char name[1];
};

void remove_below(int folder, const char* name, int depth);

void empty_folder(int folder, int depth) {
  alignas(Entry) std::array<char, 4096> buffer;
  for (;;) {
    const long bytes = ::syscall(SYS_getdents64, folder, buffer.data(), buffer.size());
    if (bytes <= 0) return;
    for (long at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const Entry*>(buffer.data() + at);
      const char* name = entry->name;
      if (std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0) remove_below(folder, name, depth);
      at += entry->bytes;
    }
  }
}

void remove_below(int folder, const char* name, int depth) {
  constexpr int kMaxDepth = 16;
  if (::unlinkat(folder, name, 0) == 0 || errno != EISDIR || depth == kMaxDepth) return;
  const int inner = ::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (inner < 0) return;
  empty_folder(inner, depth + 1);
  ::close(inner);
  ::unlinkat(folder, name, AT_REMOVEDIR);
}

}  // namespace

Leftover::Leftover(std::string_view path) {
  if (path.size() >= PATH_MAX) return;
  Slot* slot = take_slot(slot_);
  if (slot == nullptr) return;
  path.copy(slot->path.data(), path.size());
  slot->path[path.size()] = '\0';
  slot->state = State::kPath;
}

Leftover::Leftover(pid_t group) {
  Slot* slot = take_slot(slot_);
  if (slot == nullptr) return;
  slot->group = group;
  slot->state = State::kGroup;
}

Leftover::Leftover(Leftover&& other) noexcept : slot_(std::exchange(other.slot_, kNone)) {}

Leftover::~Leftover() {
  if (slot_ != kNone) slots[slot_].state = State::kFree;
}

void remove_leftovers() {
  // Programs first: they write into the folders. What is claimed here is not filled again by other threads.
  for (Slot& slot : slots) {
    State group = State::kGroup;
    if (slot.state.compare_exchange_strong(group, State::kChanging)) ::kill(-slot.group, SIGKILL);
  }
  for (Slot& slot : slots) {
    State path = State::kPath;
    if (slot.state.compare_exchange_strong(path, State::kChanging)) remove_below(AT_FDCWD, slot.path.data(), 0);
  }
}

}  // namespace isthmus
