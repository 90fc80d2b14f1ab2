# How everything in src/ is compiled and linked: fit for a shared library that exports only include/isthmus, and, where
# it is released, hardened. Tests and benchmarks, which link it, are neither.

include_guard(DIRECTORY)
include(CheckCXXCompilerFlag)

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
add_compile_options(-fno-semantic-interposition)  # a call within the library is a call, not a lookup

if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(-fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  # Jumps and returns that the CPU checks; x86 and Arm call it differently.
  foreach(flag -fcf-protection=full -mbranch-protection=standard)
    string(MAKE_C_IDENTIFIER "ISTHMUS_HAS${flag}" has)
    check_cxx_compiler_flag(${flag} ${has})
    if(${has})
      add_compile_options(${flag})
    endif()
  endforeach()
endif()

# Addresses of functions are looked up when the program starts, and are read-only from then on.
add_link_options(-Wl,-z,relro -Wl,-z,now)
