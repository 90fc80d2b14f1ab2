# cmake --install: the command, the library as shared object and archive, the headers, and what finds them. Libraries
# that are not the system's own lie in lib/isthmus, which only Isthmus looks into.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(third_party)

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/Isthmus")
file(RELATIVE_PATH from_bin "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}/isthmus")
set_target_properties(isthmus PROPERTIES INSTALL_RPATH "$ORIGIN/${from_bin}")
set_target_properties(isthmus_shared PROPERTIES INSTALL_RPATH "$ORIGIN/isthmus")

# Everything that is installed.
add_custom_target(shipped DEPENDS isthmus isthmus_shared isthmus_static)

install(TARGETS isthmus RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(TARGETS isthmus_shared isthmus_static LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${CMAKE_SOURCE_DIR}/include/isthmus" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES "${CMAKE_SOURCE_DIR}/LICENSE" "${CMAKE_SOURCE_DIR}/CHANGELOG.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
if(XNNPACK_IS_PRIVATE)
  foreach(library XNNPACK pthreadpool cpuinfo)
    file(REAL_PATH "${ISTHMUS_LIBRARY_${library}}" real)
    install(PROGRAMS "${real}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/isthmus")
  endforeach()
endif()

configure_package_config_file(cmake/IsthmusConfig.cmake.in "${CMAKE_BINARY_DIR}/IsthmusConfig.cmake"
                              INSTALL_DESTINATION "${package_folder}" NO_CHECK_REQUIRED_COMPONENTS_MACRO
                              PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/IsthmusConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/IsthmusConfig.cmake" "${CMAKE_BINARY_DIR}/IsthmusConfigVersion.cmake"
        DESTINATION "${package_folder}")

file(RELATIVE_PATH from_pc "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" from_pc "${from_pc}")
list(TRANSFORM ISTHMUS_LINKED PREPEND "-l:" OUTPUT_VARIABLE linked)
list(JOIN linked " " linked)
configure_file(cmake/isthmus.pc.in "${CMAKE_BINARY_DIR}/isthmus.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/isthmus.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
