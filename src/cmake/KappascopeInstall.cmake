# SPDX-License-Identifier: Apache-2.0
# The installed package: find_package(kappascope) gives kappascope::kappascope and one target a layer,
# and with COMPONENTS of layers without LibTorch these alone, which then need none.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)

get_property(layers GLOBAL PROPERTY KAPPASCOPE_LAYERS)
get_property(torch_layers GLOBAL PROPERTY KAPPASCOPE_TORCH_LAYERS)
list(TRANSFORM layers REPLACE "^kappascope_" "" OUTPUT_VARIABLE KAPPASCOPE_PLAIN_COMPONENTS)
add_library(kappascope_all INTERFACE)
add_library(kappascope::kappascope ALIAS kappascope_all)
set_target_properties(kappascope_all PROPERTIES EXPORT_NAME kappascope)
target_link_libraries(kappascope_all INTERFACE ${layers} ${torch_layers})
if(KAPPASCOPE_TORCH)
  target_sources(kappascope_all INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include
                 FILES ${PROJECT_SOURCE_DIR}/include/kappascope/kappascope.h)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kappascope)
install(TARGETS ${layers} EXPORT kappascopeTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS kappascope_all ${torch_layers} EXPORT kappascopeAllTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT kappascopeTargets NAMESPACE kappascope:: DESTINATION ${package_dir})
install(EXPORT kappascopeAllTargets NAMESPACE kappascope:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/src/cmake/kappascope-config.cmake.in
                              ${PROJECT_BINARY_DIR}/kappascope-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kappascope-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kappascope-config.cmake
              ${PROJECT_BINARY_DIR}/kappascope-config-version.cmake
              ${PROJECT_SOURCE_DIR}/src/cmake/KappascopeTorch.cmake
              ${PROJECT_SOURCE_DIR}/src/cmake/KappascopeCuda.cmake
        DESTINATION ${package_dir})
if(TARGET kappascope_cli)
  # The program stays with the LibTorch that it was built with.
  set_target_properties(kappascope_cli PROPERTIES INSTALL_RPATH "${KAPPASCOPE_TORCH_DIR}/lib")
  install(TARGETS kappascope_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()

# `cpack -G "TGZ;DEB"`: libraries and headers as an archive and as a Debian package. The program is
# left out, for it stays with its LibTorch.
set(CPACK_PACKAGE_NAME libkappascope-dev)
set(CPACK_PACKAGE_CONTACT "The authors of Kappascope")
set(CPACK_PACKAGE_FILE_NAME kappascope-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_COMPONENTS_ALL development)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "cmake (>= 3.25), pkg-config, libfmt-dev (>= 9), libeigen3-dev (>= 3.4), \
libsqlitecpp-dev (>= 3), nlohmann-json3-dev (>= 3.11), zlib1g-dev, libzip-dev (>= 1.7), libboost-dev (>= 1.74)")
include(CPack)
