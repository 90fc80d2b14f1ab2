# Language level, warnings, sanitizers and ccache, the same for every target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The base directory lets two checkouts of the project share one cache; the sloppiness is what precompiled headers
  # need, and harmless: no file of ours asks for the time.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros
      "${CMAKE_SOURCE_DIR}/tools/build/cached" ${CCACHE_PROGRAM})
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC sees overlaps and overruns in plain std::string (its bug 105651), more so behind precompiled headers. What these
  # would rightly find, the address sanitizer finds.
  add_compile_options(-Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # Most machines have instructions for a product and a sum with one rounding, which the plain x86-64 has not: results
  # would differ.
  add_compile_options(-ffp-contract=off)
endif()
add_compile_options("-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
file(RELATIVE_PATH to_source "${CMAKE_BINARY_DIR}" "${CMAKE_SOURCE_DIR}")
string(REGEX REPLACE "/$" "" to_source "${to_source}")
if(to_source)  # by which ccache names files
  add_compile_options("-ffile-prefix-map=${to_source}/=")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess)  # lets ccache look through precompiled headers
endif()

# For code in which no run spends its time; optimized all the same, since the linker may take templates from there for all
# others. GCC refuses a precompiled header that was made with other settings of the machine, and -O2 implies some.
set(ISTHMUS_COLD_OPTIONS -O1)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  include(CheckCXXCompilerFlag)
  foreach(flag unroll-only-small-loops vzeroupper)
    check_cxx_compiler_flag(-m${flag} "ISTHMUS_HAS_${flag}")
    if(ISTHMUS_HAS_${flag})
      list(APPEND ISTHMUS_COLD_OPTIONS -m${flag})
    endif()
  endforeach()
endif()

if(ISTHMUS_SANITIZE)
  add_compile_options(-fsanitize=${ISTHMUS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ISTHMUS_SANITIZE})
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-maybe-uninitialized)  # not reliable on instrumented code; release builds have it
    # The fuzz preset has these; here they cost more time than all the others together. What most of them find, the
    # address sanitizer finds too.
    add_compile_options(-fno-sanitize=alignment,null,object-size,pointer-overflow,vptr)
  endif()
endif()

if(ISTHMUS_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
