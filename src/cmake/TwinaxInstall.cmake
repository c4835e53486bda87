# Installs the command, the layers as a package that find_package(twinax) finds, and the catalogs that the command reads.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/twinax)
foreach(target twinax_base twinax_net twinax_collective twinax_tensor twinax_nn twinax_step twinax_fsdp twinax_data twinax_record
               twinax_dnnl twinax_cblas twinax_sentencepiece twinax_hdf5)
  if(TARGET ${target})
    install(TARGETS ${target} EXPORT twinaxTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
                                                   LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endforeach()
if(TARGET twinax)
  install(TARGETS twinax RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/twinax DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
if(EXISTS ${CMAKE_SOURCE_DIR}/experiments)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/experiments DESTINATION ${CMAKE_INSTALL_DATADIR}/twinax PATTERN "__pycache__" EXCLUDE)
endif()

install(EXPORT twinaxTargets NAMESPACE twinax:: DESTINATION ${package_folder})
configure_package_config_file(${CMAKE_SOURCE_DIR}/src/cmake/twinaxConfig.cmake.in ${CMAKE_BINARY_DIR}/twinaxConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/twinaxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/twinaxConfig.cmake ${CMAKE_BINARY_DIR}/twinaxConfigVersion.cmake DESTINATION ${package_folder})
