# gs_precompile(KIND TARGET...): the targets read the standard library, fmt and expected from one precompiled header instead of
# parsing them anew in every file; test programs read GoogleTest from theirs, too. Sources still include what they use; a build
# without it (GAUSSCOPE_PRECOMPILE=OFF) compiles the same code. KIND also says what optimisation is worth its time:
#
#   computing   the build's own
#   interface   the build's own; under sanitizers the least there is: waits for people and files. It compiles as fast as none
#               at all and leaves out checks that others make needless: 150 programs link 290 MB each instead of 450.
#   command     as interface, but at most -O1: runs once for each thing asked for, and compiles in two thirds of the time.
#   test        none, and under sanitizers as little: most of a test's code runs once. With the standard library's own checks
#               (_GLIBCXX_ASSERTIONS), which the sanitizers' build has everywhere; the optimised program has none of them.
option(GAUSSCOPE_PRECOMPILE "Precompile the standard library's and fmt's headers" ON)
function(gs_precompile kind)
  if(GAUSSCOPE_SANITIZE AND kind STREQUAL command)
    set(kind interface)
  endif()
  if(NOT kind STREQUAL computing AND GAUSSCOPE_SANITIZE)
    set(optimise $<IF:$<CXX_COMPILER_ID:Clang>,-O0,-Og>)
  elseif(kind STREQUAL test)
    set(optimise -O0 -D_GLIBCXX_ASSERTIONS)
  elseif(kind STREQUAL command)
    set(optimise -O1)
  else()
    set(kind computing)
    set(optimise)
  endif()
  set(header gs_precompiled_${kind})
  if(kind STREQUAL computing)
    set(header gs_precompiled)
  endif()
  if(GAUSSCOPE_PRECOMPILE AND NOT TARGET ${header})
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${header}.cpp CONTENT "")
    add_library(${header} STATIC ${CMAKE_BINARY_DIR}/${header}.cpp)
    target_link_libraries(${header} PRIVATE gs_options fmt::fmt)
    # With the time of each header in it, Clang's differs in every new folder, and the compiler cache would find nothing there.
    target_compile_options(${header} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
      "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>" ${optimise})
    target_precompile_headers(${header} PRIVATE
      <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <condition_variable> <cstdint> <cstring> <deque>
      <filesystem> <functional> <future> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string>
      <string_view> <thread> <tuple> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <tl/expected.hpp>)
    if(kind STREQUAL test)
      set_target_properties(${header} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_link_libraries(${header} PRIVATE GTest::gtest GTest::gmock)
      target_precompile_headers(${header} PRIVATE <fstream> <sstream> <gmock/gmock.h> <gtest/gtest.h>)
    endif()
  endif()
  if(kind STREQUAL test)  # programs: what a library's header says of position independence would not be theirs
    set_target_properties(${ARGN} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  endif()
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${optimise}>)
    if(GAUSSCOPE_PRECOMPILE)
      # GCC 12 takes what it has from a precompiled header for our own code, and warns of what std::string does inside.
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess
        -Wno-array-bounds -Wno-stringop-overread -Wno-stringop-overflow -Wno-restrict>)
      target_precompile_headers(${target} REUSE_FROM ${header})
    endif()
  endforeach()
endfunction()
