# XNNPACK::XNNPACK, with pthreadpool and cpuinfo: from the project's own .deps/xnnpack where ./dev setup has put one (a
# toolchain has ISTHMUS_DEPS instead of .deps), else from the system. Snapshots before git20241108 cannot express our
# graphs and count as not found.

if(NOT DEFINED ISTHMUS_DEPS)
  set(ISTHMUS_DEPS "${CMAKE_SOURCE_DIR}/.deps")
endif()
set(XNNPACK_PREFIX "${ISTHMUS_DEPS}/xnnpack/usr")
set(XNNPACK_PLACES "")
if(EXISTS "${XNNPACK_PREFIX}/include/xnnpack.h")
  set(XNNPACK_PLACES HINTS "${XNNPACK_PREFIX}" NO_DEFAULT_PATH)
endif()

# Not cached: a prefix that appears after the first configuration must be seen by the next one.
foreach(variable XNNPACK_INCLUDE_DIR XNNPACK_LIBRARY PTHREADPOOL_LIBRARY CPUINFO_LIBRARY)
  unset(${variable} CACHE)
endforeach()
set(multiarch "lib/${CMAKE_CXX_LIBRARY_ARCHITECTURE}")
find_path(XNNPACK_INCLUDE_DIR xnnpack.h ${XNNPACK_PLACES} PATH_SUFFIXES include)
find_library(XNNPACK_LIBRARY XNNPACK ${XNNPACK_PLACES} PATH_SUFFIXES ${multiarch})
find_library(PTHREADPOOL_LIBRARY pthreadpool ${XNNPACK_PLACES} PATH_SUFFIXES ${multiarch})
find_library(CPUINFO_LIBRARY cpuinfo ${XNNPACK_PLACES} PATH_SUFFIXES ${multiarch})

set(XNNPACK_IS_CURRENT "")
if(XNNPACK_INCLUDE_DIR)
  file(STRINGS "${XNNPACK_INCLUDE_DIR}/xnnpack.h" XNNPACK_IS_CURRENT REGEX "xnn_define_unary" LIMIT_COUNT 1)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(XNNPACK REQUIRED_VARS XNNPACK_LIBRARY PTHREADPOOL_LIBRARY CPUINFO_LIBRARY
                                  XNNPACK_INCLUDE_DIR XNNPACK_IS_CURRENT)

# Links of our own libraries lie in the build tree: programs there find them by relative paths, whatever folder the
# project is in.
set(XNNPACK_IS_PRIVATE OFF)
get_filename_component(XNNPACK_FOLDER "${XNNPACK_LIBRARY}" DIRECTORY)
if(XNNPACK_FOUND AND XNNPACK_PLACES)
  set(XNNPACK_IS_PRIVATE ON)
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/xnnpack")
  foreach(name XNNPACK PTHREADPOOL CPUINFO)
    file(REAL_PATH "${${name}_LIBRARY}" real)
    get_filename_component(file "${real}" NAME)
    file(CREATE_LINK "${real}" "${CMAKE_BINARY_DIR}/xnnpack/${file}" SYMBOLIC)
    set(${name}_LIBRARY "${CMAKE_BINARY_DIR}/xnnpack/${file}")
  endforeach()
endif()

if(XNNPACK_FOUND AND NOT TARGET XNNPACK::XNNPACK)
  foreach(name CPUINFO PTHREADPOOL XNNPACK)
    add_library(XNNPACK::${name} SHARED IMPORTED)
    set_target_properties(XNNPACK::${name} PROPERTIES IMPORTED_LOCATION "${${name}_LIBRARY}")
  endforeach()
  set_target_properties(XNNPACK::XNNPACK PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${XNNPACK_INCLUDE_DIR}")
  target_link_libraries(XNNPACK::XNNPACK INTERFACE XNNPACK::PTHREADPOOL XNNPACK::CPUINFO)
endif()
