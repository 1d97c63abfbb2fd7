# Backward's kernels in the emulator: alone on frames made by hand, and through the whole CUDA backend. The frames made by
# hand lie in host memory, where a sanitizer sees every stray access: not for an emulator that keeps device memory apart.
gs_test(cuda_backward_kernels SOURCES ${CMAKE_CURRENT_LIST_DIR}/cuda_backward_frame.cpp
  ${CMAKE_CURRENT_LIST_DIR}/cuda_backward_kernels_test.cpp LIBS gs_cuda_emulated gs_reference)
gs_test(cuda_backward SOURCES ${CMAKE_CURRENT_LIST_DIR}/cuda_backward_test.cpp LIBS gs_cuda_emulated gs_reference)
