# The forward half of the CUDA backend, emulated: its kernels, its pipeline, its rasterizer.
set(here ${CMAKE_CURRENT_LIST_DIR})
gs_test(cuda_forward SOURCES ${here}/cuda_forward_blend_test.cpp ${here}/cuda_forward_files_test.cpp ${here}/cuda_forward_frame.cpp
  ${here}/cuda_forward_lists_test.cpp ${here}/cuda_forward_model_test.cpp ${here}/cuda_forward_robust_test.cpp ${here}/cuda_forward_room_test.cpp
  ${here}/cuda_forward_scenes_test.cpp LIBS gs_cuda_emulated gs_reference)
