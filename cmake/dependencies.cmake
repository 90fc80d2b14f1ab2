# Every library from outside, as an imported target. ./dev setup installs them all.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(ZLIB REQUIRED)                # ZLIB::ZLIB
find_package(OpenSSL REQUIRED COMPONENTS Crypto)  # OpenSSL::Crypto, for SHA-256
find_package(fmt REQUIRED)                 # fmt::fmt
find_package(tl-expected REQUIRED)         # tl::expected
find_package(JPEG REQUIRED)                # JPEG::JPEG
find_package(PNG REQUIRED)                 # PNG::PNG
find_package(nlohmann_json REQUIRED)       # nlohmann_json::nlohmann_json
find_package(CLI11 REQUIRED)               # CLI11::CLI11
find_package(tomlplusplus REQUIRED)        # tomlplusplus::tomlplusplus

# Debian's CMake files of these two differ between releases; their pkg-config files do not.
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
add_library(xxHash::xxhash ALIAS PkgConfig::xxhash)
pkg_check_modules(sndfile REQUIRED IMPORTED_TARGET sndfile)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
add_library(hwy::hwy ALIAS PkgConfig::hwy)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  # Our loops keep vectors in structs, which those of a size that only the CPU knows cannot be in.
  target_compile_definitions(PkgConfig::hwy INTERFACE "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
endif()

find_package(FlatBuffers REQUIRED)         # flatbuffers::flatbuffers
find_package(XNNPACK)                      # XNNPACK::XNNPACK with pthreadpool and cpuinfo
if(NOT XNNPACK_FOUND)
  message(FATAL_ERROR "No current XNNPACK: run ./dev setup.")
endif()

# The library that lays out the graph of a report's page: one script, embedded into the binary.
find_file(DAGRE_SCRIPT dagre.min.js PATHS /usr/lib/python3/dist-packages/xstatic/pkg/dagre/data
          /usr/share/javascript/dagre NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
if(NOT DAGRE_SCRIPT)
  message(FATAL_ERROR "No dagre.min.js: run ./dev setup, which installs python3-xstatic-dagre.")
endif()
