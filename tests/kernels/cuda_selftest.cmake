gs_test(cuda_selftest SOURCES ${CMAKE_CURRENT_LIST_DIR}/cuda_selftest_test.cpp LIBS gs_checks gs_cuda_emulated)
