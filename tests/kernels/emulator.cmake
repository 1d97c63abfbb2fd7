# The emulator catches what it says it catches.
gs_test(emulator SOURCES ${CMAKE_CURRENT_LIST_DIR}/emulator_test.cpp LIBS gs_cuda_emulator)
