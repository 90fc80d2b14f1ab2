# isthmus_flatbuffers(<target> <schema>...)
#
# Makes C++ headers of flatbuffers schemas in the build tree. The target includes schema/x.fbs of src/<folder> as
# "<folder>/schema/x_generated.h"; no other target sees them. The target generated_headers makes them all.

include_guard(GLOBAL)
find_program(FLATC flatc REQUIRED)  # this machine's: the imported one is the target machine's
add_custom_target(generated_headers)

function(isthmus_flatbuffers target)
  file(RELATIVE_PATH folder "${CMAKE_SOURCE_DIR}/src" "${CMAKE_CURRENT_SOURCE_DIR}")
  set(root "${CMAKE_BINARY_DIR}/generated")
  foreach(schema IN LISTS ARGN)
    get_filename_component(name "${schema}" NAME_WE)
    get_filename_component(place "${folder}/${schema}" DIRECTORY)
    set(header "${root}/${place}/${name}_generated.h")
    add_custom_command(
      OUTPUT "${header}"
      COMMAND ${FLATC} --cpp --scoped-enums -o "${root}/${place}" "${CMAKE_CURRENT_SOURCE_DIR}/${schema}"
      DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${schema}"
      COMMENT "Generating ${place}/${name}_generated.h"
      VERBATIM)
    target_sources(${target} PRIVATE "${header}")
    list(APPEND headers "${header}")
  endforeach()
  add_custom_target(${target}_generated_headers DEPENDS ${headers})
  add_dependencies(generated_headers ${target}_generated_headers)
  # As system headers: the warnings in generated code are not ours.
  target_include_directories(${target} SYSTEM PRIVATE "${root}")
endfunction()
