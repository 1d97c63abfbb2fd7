# The device layer's errors, counts and memory, on a runtime that can be told to fail.
gs_test(cuda_device SOURCES ${CMAKE_CURRENT_LIST_DIR}/cuda_device_test.cpp LIBS gs_cuda_emulated)
