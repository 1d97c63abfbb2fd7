# Training on the emulated device: loss, optimizer and density control against the CPU's, whole runs, what they call.
set(here ${CMAKE_CURRENT_LIST_DIR})
gs_test(cuda_training SOURCES ${here}/cuda_training_density_test.cpp ${here}/cuda_training_loss_test.cpp ${here}/cuda_training_run_test.cpp
  ${here}/cuda_training_scene.cpp LIBS gs_cuda_emulated)
