# ./dev package: a .deb for the release of Debian that it is made on (not for another machine, since Debian's tools look up
# what it depends on among the packages that are installed), and a tarball that runs on any with its glibc or a later one.
# tools/package/finish does what differs between them.

set(CPACK_PACKAGE_NAME isthmus)
set(CPACK_PACKAGE_VENDOR Isthmus)
set(CPACK_PACKAGE_CONTACT "the maintainers of Isthmus <isthmus@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION "Reads torch.export archives and ONNX models, quantizes them to int8, lowers them to XNNPACK or
TOSA, and writes programs that ExecuTorch loads. Runs them, and explains every operator that stays on
the CPU. The command isthmus, the library for C++, C and Python.")
set(CPACK_PACKAGE_FILE_NAME "isthmus-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_PACKAGE_DIRECTORY "${CMAKE_BINARY_DIR}/dist")
set(CPACK_GENERATOR TGZ)
if(NOT CMAKE_CROSSCOMPILING)
  list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 1)
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_BINARY_DIR}/finish_package.cmake")
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/finish_package.cmake" @ONLY CONTENT [[
execute_process(COMMAND "@CMAKE_SOURCE_DIR@/tools/package/finish" "${CPACK_GENERATOR}" "${CPACK_TEMPORARY_INSTALL_DIRECTORY}"
                        "${CPACK_PACKAGING_INSTALL_PREFIX}" COMMAND_ERROR_IS_FATAL ANY)
]])

file(STRINGS /etc/os-release release REGEX "^VERSION_ID=")
string(REGEX MATCH "[0-9.]+" release "${release}")
set(CPACK_DEBIAN_PACKAGE_VERSION "${PROJECT_VERSION}+deb${release}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
if(XNNPACK_IS_PRIVATE)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${XNNPACK_FOLDER}")
endif()
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-numpy, g++, cmake")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${CMAKE_SOURCE_DIR}/tools/package/prerm")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

include(CPack)
