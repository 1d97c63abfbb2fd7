# Finds nvcc and chooses what GPUs to compile for. Afterwards CMAKE_CUDA_COMPILER is set or there is no CUDA, and
# GAUSSCOPE_CUDA_CODE says in words what the kernels are compiled for.
#
#   GAUSSCOPE_CUDA_ARCHITECTURES   auto       the GPUs of this machine, 90 where there is none (default)
#                                  release    every generation from Turing on that the toolkit knows, and PTX for later ones
#                                  80;90      exactly these
set(GAUSSCOPE_CUDA_ARCHITECTURES auto CACHE STRING "GPUs to compile for: auto, release or a list like 80;90")
include(CheckLanguage)
# CMake looks in PATH only. NVIDIA's packages install to /usr/local/cuda and leave PATH alone.
find_program(GAUSSCOPE_NVCC nvcc PATHS /usr/local/cuda/bin)
mark_as_advanced(GAUSSCOPE_NVCC)
if(GAUSSCOPE_NVCC AND NOT CMAKE_CUDA_COMPILER)
  unset(CMAKE_CUDA_COMPILER CACHE)  # this folder was configured before the toolkit came
  if("$ENV{CUDACXX}" STREQUAL "")
    set(ENV{CUDACXX} ${GAUSSCOPE_NVCC})
  endif()
endif()
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  return()
endif()

# The toolkit's own list; older toolkits do not know the newest GPUs.
function(gs_known_architectures out)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-code OUTPUT_VARIABLE listed ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+" listed "${listed}")
  set(${out} ${listed} PARENT_SCOPE)
endfunction()

function(gs_present_architectures out)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE listed ERROR_QUIET RESULT_VARIABLE result)
  set(found)
  if(result EQUAL 0)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]" found "${listed}")
    list(TRANSFORM found REPLACE "\\." "")
    list(REMOVE_DUPLICATES found)
  endif()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

if(GAUSSCOPE_CUDA_ARCHITECTURES STREQUAL release)
  gs_known_architectures(known)
  set(wanted 75 80 86 89 90 100 120)
  foreach(architecture IN LISTS wanted)
    if(NOT architecture IN_LIST known)
      message(STATUS "gausscope: this CUDA toolkit has no code for architecture ${architecture}; a newer one has")
      list(REMOVE_ITEM wanted ${architecture})
    endif()
  endforeach()
  list(POP_BACK wanted newest)
  list(TRANSFORM wanted APPEND -real)
  set(CMAKE_CUDA_ARCHITECTURES ${wanted} ${newest})  # without a suffix: code and PTX
elseif(GAUSSCOPE_CUDA_ARCHITECTURES STREQUAL auto)
  gs_present_architectures(CMAKE_CUDA_ARCHITECTURES)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
else()
  set(CMAKE_CUDA_ARCHITECTURES ${GAUSSCOPE_CUDA_ARCHITECTURES})
endif()
string(REPLACE "-real" "" GAUSSCOPE_CUDA_CODE "${CMAKE_CUDA_ARCHITECTURES}")
string(REPLACE ";" ", " GAUSSCOPE_CUDA_CODE "${GAUSSCOPE_CUDA_CODE}")
message(STATUS "gausscope: kernels for architectures ${GAUSSCOPE_CUDA_CODE}")

enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake before 3.26 does not know that nvcc 12 has it
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)  # the program starts on machines without a driver
