# The way of a picture to the screen: packing on the emulated device, interop against a counting OpenGL.
if(GAUSSCOPE_STUDIO)
  gs_test(cuda_present SOURCES ${CMAKE_CURRENT_LIST_DIR}/cuda_present_test.cpp LIBS gs_cuda_emulated gs_present glad)
endif()
