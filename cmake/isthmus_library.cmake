# isthmus_library(<folder> [COLD] [LINKS <targets>...] [ALONE <files>...])
#
# Makes the static library isthmus_<folder> of every .cc in the calling folder and its parts (main.cc apart; a part is a
# subfolder that has no row of its own), with src/ as its
# include directory. It links the folders that its row in layers.txt allows, as far as they exist, and LINKS.
# Its files are compiled after the folder's own precompiled.h, or else the last one of the folders it links, and several
# of them at once, since what they instantiate alike costs most of a build: a name in an anonymous namespace belongs to
# the folder, and a second thing of that name is an error. ALONE names files that cannot share: those that Highway
# compiles once for each kind of vectors, and those with a class whose parts are in the anonymous namespace. COLD says that a run spends no time here, so that a build need not either.

set(ISTHMUS_LAYERS_FILE "${CMAKE_CURRENT_LIST_DIR}/layers.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${ISTHMUS_LAYERS_FILE}")

file(STRINGS "${ISTHMUS_LAYERS_FILE}" rows REGEX "^[a-z]")
set(ISTHMUS_FOLDERS "")
foreach(row IN LISTS rows)
  string(REGEX MATCH "^([a-z_/]+):(.*)$" matched "${row}")
  set(folder "${CMAKE_MATCH_1}")
  separate_arguments(allowed UNIX_COMMAND "${CMAKE_MATCH_2}")
  list(APPEND ISTHMUS_FOLDERS "${folder}")
  set(ISTHMUS_MAY_USE_${folder} "${allowed}")
endforeach()

# Everything in src/, for tests and benchmarks.
add_library(isthmus_all INTERFACE)

function(isthmus_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD" "" "LINKS;SOURCES;ALONE")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "isthmus_library(${folder}): what is '${arg_UNPARSED_ARGUMENTS}'? Targets go after LINKS.")
  endif()
  if(NOT folder IN_LIST ISTHMUS_FOLDERS)
    message(FATAL_ERROR "src/${folder} has no row in cmake/layers.txt: add one that says whom it may use.")
  endif()

  set(sources "${arg_SOURCES}")
  if(NOT sources)
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc" "${CMAKE_CURRENT_SOURCE_DIR}/*/*.cc")
    foreach(other IN LISTS ISTHMUS_FOLDERS)  # files and folders with a row of their own
      list(REMOVE_ITEM sources "${CMAKE_SOURCE_DIR}/src/${other}.cc")
      if(other MATCHES "^${folder}/")
        list(FILTER sources EXCLUDE REGEX "^${CMAKE_SOURCE_DIR}/src/${other}/")
      endif()
    endforeach()
    list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  endif()

  string(REPLACE "/" "_" library "isthmus_${folder}")
  set(links "")
  foreach(used IN LISTS ISTHMUS_MAY_USE_${folder})
    string(REPLACE "/" "_" used_name "${used}")
    if(TARGET isthmus_${used_name})
      list(APPEND links isthmus_${used_name})
    endif()
  endforeach()
  list(APPEND links ${arg_LINKS})

  if(sources)
    set(scope PUBLIC)
    add_library(${library} STATIC ${sources})
  else()
    set(scope INTERFACE)
    add_library(${library} INTERFACE)
  endif()
  target_include_directories(${library} ${scope} "${CMAKE_SOURCE_DIR}/src")
  target_link_libraries(${library} ${scope} ${links})
  if(sources)
    if(ISTHMUS_UNITY)
      set_target_properties(${library} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
      set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    if(arg_COLD)
      target_compile_options(${library} PRIVATE "$<$<CONFIG:Release>:${ISTHMUS_COLD_OPTIONS}>")
    endif()
    # The last of those that it may use, directly or else through another, that has such headers; or its own.
    set(candidates "")
    foreach(used IN LISTS ISTHMUS_MAY_USE_${folder})
      list(APPEND candidates ${ISTHMUS_MAY_USE_${used}})
    endforeach()
    list(APPEND candidates ${ISTHMUS_MAY_USE_${folder}} ${folder})
    foreach(candidate IN LISTS candidates)
      if(EXISTS "${CMAKE_SOURCE_DIR}/src/${candidate}/precompiled.h")
        set(owner ${candidate})
      endif()
    endforeach()
    if(owner STREQUAL folder)
      # In angle brackets, since a path of this machine would make every compilation unknown to another's cache.
      target_precompile_headers(${library} PRIVATE <${folder}/precompiled.h>)
    else()
      target_precompile_headers(${library} REUSE_FROM isthmus_${owner})
    endif()
  endif()
  target_link_libraries(isthmus_all INTERFACE ${library})
endfunction()
