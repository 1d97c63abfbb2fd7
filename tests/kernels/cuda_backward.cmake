# Backward's kernels in the emulator: alone on frames made by hand, and through the whole CUDA backend.
gs_test(cuda_backward_kernels SOURCES ${CMAKE_CURRENT_LIST_DIR}/cuda_backward_frame.cpp
  ${CMAKE_CURRENT_LIST_DIR}/cuda_backward_kernels_test.cpp LIBS gs_cuda_emulated gs_reference)
gs_test(cuda_backward SOURCES ${CMAKE_CURRENT_LIST_DIR}/cuda_backward_test.cpp LIBS gs_cuda_emulated gs_reference)
