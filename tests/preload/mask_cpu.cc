// A library to preload: the process sees an x86 CPU of a lower level, which the environment variable ISTHMUS_CPU_LEVEL
// names, so that every family of kernels is tested on one machine. XNNPACK asks cpuinfo, our own kernels ask Highway.
#include <cpuinfo.h>
#include <dlfcn.h>
#include <hwy/targets.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

enum class Level { kNative, kAvx2, kSse2 };

Level level() {
  const char* name = std::getenv("ISTHMUS_CPU_LEVEL");
  if (name == nullptr) return Level::kNative;
  if (std::string_view(name) == "avx2") return Level::kAvx2;
  if (std::string_view(name) == "sse2") return Level::kSse2;
  std::fprintf(stderr, "ISTHMUS_CPU_LEVEL is %s: it may be avx2 or sse2\n", name);
  std::abort();
}

// Only what is named here stays, so that extensions that come later are masked too.
cpuinfo_x86_isa masked(const cpuinfo_x86_isa& isa, Level level) {
  if (level == Level::kNative) return isa;
  cpuinfo_x86_isa result{};
  result.rdtscp = isa.rdtscp;
  result.clflush = isa.clflush;
  result.fxsave = isa.fxsave;
  result.prefetch = isa.prefetch;
  if (level == Level::kSse2) return result;
  result.sse3 = isa.sse3;
  result.ssse3 = isa.ssse3;
  result.sse4_1 = isa.sse4_1;
  result.sse4_2 = isa.sse4_2;
  result.avx = isa.avx;
  result.fma3 = isa.fma3;
  result.f16c = isa.f16c;
  result.avx2 = isa.avx2;
  result.movbe = isa.movbe;
  result.popcnt = isa.popcnt;
  result.lzcnt = isa.lzcnt;
  result.bmi = isa.bmi;
  result.bmi2 = isa.bmi2;
  return result;
}

// Highway numbers its targets from the best down. Older versions have none for SSE2 and emulate vectors there.
#ifdef HWY_SSE2
constexpr auto kAboveSse2 = HWY_SSE2 - 1;
#else
constexpr auto kAboveSse2 = 2 * HWY_SSSE3 - 1;
#endif

[[gnu::constructor]] void mask_highway() {
  switch (level()) {
    case Level::kNative:
      return;
    case Level::kAvx2:
      return hwy::DisableTargets(HWY_AVX2 - 1);
    case Level::kSse2:
      return hwy::DisableTargets(kAboveSse2);
  }
}

bool initialize() {
  const auto next = reinterpret_cast<decltype(&cpuinfo_initialize)>(dlsym(RTLD_NEXT, "cpuinfo_initialize"));
  if (next == nullptr || !next()) return false;
  cpuinfo_isa = masked(cpuinfo_isa, level());
  return true;
}

}  // namespace

extern "C" bool cpuinfo_initialize() {
  static const bool is_initialized = initialize();
  return is_initialized;
}
