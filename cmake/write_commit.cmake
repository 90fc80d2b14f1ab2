# cmake -DSOURCE=FOLDER -DHEADER=FILE -P write_commit.cmake: writes the commit of the source, where that has changed.
# Outside of a checkout commit.txt knows it, which git fills in when it makes an archive.

set(commit unknown)
find_program(GIT git)
if(GIT AND EXISTS "${SOURCE}/.git")
  execute_process(COMMAND ${GIT} -C "${SOURCE}" rev-parse --short=12 HEAD OUTPUT_VARIABLE commit
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT} -C "${SOURCE}" diff-index --quiet HEAD RESULT_VARIABLE changed ERROR_QUIET)
  if(changed)
    string(APPEND commit ", changed")
  endif()
else()
  file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/commit.txt" exported LIMIT_COUNT 1)
  if(NOT exported MATCHES "Format")
    set(commit "${exported}")
  endif()
endif()
file(CONFIGURE OUTPUT "${HEADER}" CONTENT "#define ISTHMUS_COMMIT \"${commit}\"\n")
