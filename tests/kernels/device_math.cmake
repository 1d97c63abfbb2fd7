# Where nvcc is present, the mathematics must compile for the device too.
if(CMAKE_CUDA_COMPILER)
  add_library(device_math_compiles OBJECT ${CMAKE_CURRENT_LIST_DIR}/device_math.cu)
  target_include_directories(device_math_compiles PRIVATE ${PROJECT_SOURCE_DIR})
endif()
