# cmake --build BUILD --target bundle: BUILD/bundle/gausscope-VERSION-linux-MACHINE/ and the same as .tar.gz, to be unpacked
# and run anywhere. tools/bundle.py says what goes in; docs/development.md says why.
#
# The bundle's program is linked once more, for where it looks for libraries: first beside itself, then in the system, last
# in lib/fallback. DT_RPATH and not DT_RUNPATH, because it must hold for what its libraries need, too.
add_executable(gausscope_bundled EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/app/main.cpp)
target_link_libraries(gausscope_bundled PRIVATE gs_program)
set(system /usr/lib64:/usr/lib)
if(CMAKE_LIBRARY_ARCHITECTURE)
  set(system /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}:${system})
endif()
target_link_options(gausscope_bundled PRIVATE -s -Wl,--disable-new-dtags)
set_target_properties(gausscope_bundled PROPERTIES
  OUTPUT_NAME gausscope RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bundle/program
  BUILD_RPATH "$ORIGIN/../lib:${system}:$ORIGIN/../lib/fallback" SKIP_BUILD_RPATH OFF)

set(GAUSSCOPE_BUNDLE gausscope-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
add_custom_target(bundle
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/bundle.py $<TARGET_FILE:gausscope_bundled>
    $<TARGET_FILE:gausscope_inject> ${CMAKE_BINARY_DIR}/bundle/${GAUSSCOPE_BUNDLE}
  DEPENDS gausscope_bundled gausscope_inject VERBATIM USES_TERMINAL)
