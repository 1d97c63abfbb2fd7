# The studio on the CUDA backend, emulated: the engine's mailboxes, and pictures into a real OpenGL context.
if(GAUSSCOPE_STUDIO)
  gs_test(studio_cuda SOURCES ${CMAKE_CURRENT_LIST_DIR}/studio_cuda_test.cpp LIBS gs_cuda_emulated gs_commands)
  gs_test(present_gl SOURCES ${CMAKE_CURRENT_LIST_DIR}/present_gl_test.cpp LIBS gs_cuda_emulated gs_present gs_window glad)
endif()
