# The forward half of the CUDA backend, emulated: its kernels and its pipeline. 
set(here ${CMAKE_CURRENT_LIST_DIR})
gs_test(cuda_forward SOURCES ${here}/cuda_forward_blend_test.cpp ${here}/cuda_forward_frame.cpp
  ${here}/cuda_forward_lists_test.cpp ${here}/cuda_forward_model_test.cpp ${here}/cuda_forward_robust_test.cpp ${here}/cuda_forward_room_test.cpp
  LIBS gs_cuda_emulated gs_reference)
# Pictures and gradients of every backend, the CPU's and the emulated one, by one suite.
gs_test(raster SOURCES ${here}/raster_cpu_test.cpp ${here}/raster_files_test.cpp ${here}/raster_robust_test.cpp ${here}/raster_scenes_test.cpp
  LIBS gs_cuda_emulated gs_reference)
