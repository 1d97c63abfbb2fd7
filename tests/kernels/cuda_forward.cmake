# The forward half of the CUDA backend, emulated: its kernels, its pipeline, its rasterizer.
gs_test(cuda_forward SOURCES ${CMAKE_CURRENT_LIST_DIR}/cuda_forward_scenes_test.cpp LIBS gs_cuda_emulated gs_reference)
