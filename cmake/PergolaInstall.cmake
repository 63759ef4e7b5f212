# The library for C++ users: libpergola.so from the same objects as the program, exporting PERGOLA_API symbols only, its headers, the
# CMake package (find_package(pergola) → pergola::pergola) and pergola.pc for pkg-config. examples/cpp is an outside project that uses it.
include(CMakePackageConfigHelpers)

add_library(pergola_shared SHARED)
add_library(pergola::pergola ALIAS pergola_shared)
target_link_libraries(pergola_shared PRIVATE pergola_objects pergola_word_objects pergola_g6_objects)
target_compile_features(pergola_shared INTERFACE cxx_std_20)
target_compile_definitions(pergola_shared INTERFACE $<$<BOOL:${PERGOLA_HAS_CUDA}>:PERGOLA_WITH_CUDA>)
target_include_directories(pergola_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(pergola_shared PROPERTIES OUTPUT_NAME pergola EXPORT_NAME pergola LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                                         LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
# What the libraries inside bring along as archives stays inside.
target_link_options(pergola_shared PRIVATE -Wl,--exclude-libs,ALL)

install(TARGETS pergola_shared EXPORT pergola LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS pergola_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT pergola NAMESPACE pergola:: FILE pergolaTargets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pergola)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/pergolaConfig.cmake "include(\${CMAKE_CURRENT_LIST_DIR}/pergolaTargets.cmake)\n")
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/pergolaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pergolaConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/pergolaConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pergola)
# pkg-config: pkg-config --cflags --libs pergola
file(RELATIVE_PATH pergola_up_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
set(pergola_definitions)
if(PERGOLA_HAS_CUDA)
  set(pergola_definitions " -DPERGOLA_WITH_CUDA")
endif()
configure_file(${CMAKE_SOURCE_DIR}/cmake/pergola.pc.in ${CMAKE_CURRENT_BINARY_DIR}/pergola.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pergola.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${CMAKE_SOURCE_DIR}/scripts/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME pergola)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(CODE "set(PERGOLA_SOURCE \"${CMAKE_SOURCE_DIR}/src\")\nset(PERGOLA_INCLUDE \"${CMAKE_INSTALL_INCLUDEDIR}/pergola\")")
install(SCRIPT ${CMAKE_SOURCE_DIR}/cmake/InstallHeaders.cmake)
install(CODE "message(STATUS \"For pkg-config: export PKG_CONFIG_PATH=\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig\")")
