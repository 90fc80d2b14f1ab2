// A library to preload: one call of the process fails, or something happens to it there. ISTHMUS_FAULT is
// CALL:NUMBER:WHAT. CALL is a row of kCalls; calls are counted from 1 since `main`. WHAT is
//   fail       the call fails once         fail-on   so do all after it
//   kill       SIGKILL before the call     terminate SIGTERM
//   truncate   after mmap of a file: another process makes the file empty
// ISTHMUS_FAULT_COUNTS names a file that gets a line "CALL NUMBER" for each row when the process exits.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}

namespace {

enum Call { kOpen, kMmap, kWrite, kFsync, kLink, kRename, kAlloc, kCallCount };
constexpr const char* kCalls[] = {"open", "mmap", "write", "fsync", "link", "rename", "alloc"};
constexpr int kErrors[] = {EMFILE, ENOMEM, ENOSPC, EIO, EIO, EIO, ENOMEM};

enum class What { kNothing, kFail, kFailOn, kKill, kTerminate, kTruncate };
constexpr const char* kWhats[] = {"nothing", "fail", "fail-on", "kill", "terminate", "truncate"};

std::atomic<bool> is_counting = false;
std::atomic<unsigned long> counts[kCallCount];
int wanted_call = -1;
unsigned long wanted_number = 0;
What wanted = What::kNothing;

void begin() {
  char text[64] = {};
  if (const char* fault = std::getenv("ISTHMUS_FAULT")) std::strncpy(text, fault, sizeof(text) - 1);
  char* number = std::strchr(text, ':');
  char* what = number == nullptr ? nullptr : std::strchr(number + 1, ':');
  if (what != nullptr) {
    *number = *what = '\0';
    for (int i = 0; i < kCallCount; ++i) wanted_call = std::strcmp(text, kCalls[i]) == 0 ? i : wanted_call;
    wanted_number = std::strtoul(number + 1, nullptr, 10);
    for (int i = 0; i <= static_cast<int>(What::kTruncate); ++i) {
      if (std::strcmp(what + 1, kWhats[i]) == 0) wanted = static_cast<What>(i);
    }
  }
  is_counting = true;
}

// What happens at this call: a failure with errno set, or nothing.
What happens(Call call) {
  if (!is_counting) return What::kNothing;
  const unsigned long number = ++counts[call];
  if (call != wanted_call) return What::kNothing;
  if (wanted == What::kFailOn ? number < wanted_number : number != wanted_number) return What::kNothing;
  if (wanted == What::kKill) ::kill(::getpid(), SIGKILL);
  if (wanted == What::kTerminate) ::kill(::getpid(), SIGTERM);
  if (wanted == What::kTruncate) return What::kTruncate;
  if (wanted != What::kFail && wanted != What::kFailOn) return What::kNothing;
  errno = kErrors[call];
  return What::kFail;
}
bool fails(Call call) { return happens(call) == What::kFail; }

template <class Function>
Function next(Function, const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

void truncate_file(int descriptor) {
  char link[64];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
  if (::truncate(link, 0) != 0) std::abort();
}

[[gnu::destructor]] void write_counts() {
  const char* path = std::getenv("ISTHMUS_FAULT_COUNTS");
  is_counting = false;
  if (path == nullptr) return;
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return;
  for (int i = 0; i < kCallCount; ++i) std::fprintf(file, "%s %lu\n", kCalls[i], counts[i].load());
  std::fclose(file);
}

using Main = int (*)(int, char**, char**);
Main real_main = nullptr;
int counted_main(int argc, char** argv, char** environment) {
  begin();
  return real_main(argc, argv, environment);
}

}  // namespace

extern "C" {

int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(), void (*rtld_fini)(),
                      void* end) {
  real_main = main;
  const auto start = next(&__libc_start_main, "__libc_start_main");
  return start(counted_main, argc, argv, init, fini, rtld_fini, end);
}

// The files of the system are not counted: cpuinfo, which XNNPACK asks, crashes without some of them.
int open(const char* path, int flags, ...) {
  const bool is_system = std::strncmp(path, "/proc/", 6) == 0 || std::strncmp(path, "/sys/", 5) == 0;
  if (!is_system && fails(kOpen)) return -1;
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return ::openat(AT_FDCWD, path, flags, mode);
}

void* mmap(void* address, std::size_t size, int protection, int flags, int file, off_t offset) noexcept {
  const What what = happens(kMmap);
  if (what == What::kFail) return MAP_FAILED;
  static const auto real = next(&mmap, "mmap");
  void* mapped = real(address, size, protection, flags, file, offset);
  if (what == What::kTruncate && file >= 0) truncate_file(file);
  return mapped;
}

ssize_t write(int file, const void* bytes, std::size_t size) {
  if (fails(kWrite)) return -1;
  static const auto real = next(&write, "write");
  return real(file, bytes, size);
}

int fsync(int file) {
  if (fails(kFsync)) return -1;
  static const auto real = next(&fsync, "fsync");
  return real(file);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  if (fails(kLink)) return -1;
  static const auto real = next(&linkat, "linkat");
  return real(from_folder, from, to_folder, to, flags);
}

int rename(const char* from, const char* to) noexcept {
  if (fails(kRename)) return -1;
  static const auto real = next(&rename, "rename");
  return real(from, to);
}

void* malloc(std::size_t bytes) noexcept { return fails(kAlloc) ? nullptr : __libc_malloc(bytes); }
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return fails(kAlloc) ? nullptr : __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) noexcept {
  return fails(kAlloc) ? nullptr : __libc_realloc(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return fails(kAlloc) ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  *memory = fails(kAlloc) ? nullptr : __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}

}  // extern "C"
