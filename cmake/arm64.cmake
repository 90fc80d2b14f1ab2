# Builds for Debian's arm64 on another machine: Debian's cross compiler, the libraries that ./dev build arm64 has unpacked
# into .deps/arm64, and qemu for what the build and the tests run.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

get_filename_component(ISTHMUS_DEPS "${CMAKE_CURRENT_LIST_DIR}/../.deps/arm64" ABSOLUTE)
set(CMAKE_SYSROOT "${ISTHMUS_DEPS}/sysroot")
if(NOT EXISTS "${ISTHMUS_DEPS}/stamp")
  message(FATAL_ERROR "No libraries of arm64 in ${CMAKE_SYSROOT}: run ./dev build arm64.")
endif()
set(CMAKE_FIND_ROOT_PATH "${ISTHMUS_DEPS}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR} "${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L "${CMAKE_SYSROOT}")
