gs_test(cuda_timing SOURCES ${CMAKE_CURRENT_LIST_DIR}/cuda_timing_test.cpp LIBS gs_cuda_emulated gs_profiler)
