# gs_precompile(TARGET...): the targets read the standard library, fmt and expected from one precompiled header instead of
# parsing them anew in every file. Sources still include what they use; a build without it (GAUSSCOPE_PRECOMPILE=OFF)
# compiles the same code.
option(GAUSSCOPE_PRECOMPILE "Precompile the standard library's and fmt's headers" ON)
function(gs_precompile)
  if(NOT GAUSSCOPE_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET gs_precompiled)
    file(WRITE ${CMAKE_BINARY_DIR}/precompiled.cpp "")
    add_library(gs_precompiled STATIC ${CMAKE_BINARY_DIR}/precompiled.cpp)
    target_link_libraries(gs_precompiled PRIVATE gs_options fmt::fmt)
    target_compile_options(gs_precompiled PRIVATE -fpch-preprocess)
    target_precompile_headers(gs_precompiled PRIVATE
      <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <condition_variable> <cstdint> <cstring> <deque>
      <filesystem> <functional> <future> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string>
      <string_view> <thread> <tuple> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <tl/expected.hpp>)
  endif()
  foreach(target IN LISTS ARGN)
    # GCC 12 takes what it has from a precompiled header for our own code, and warns of what std::string does inside.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess
      -Wno-array-bounds -Wno-stringop-overread -Wno-stringop-overflow -Wno-restrict>)
    target_precompile_headers(${target} REUSE_FROM gs_precompiled)
  endforeach()
endfunction()
