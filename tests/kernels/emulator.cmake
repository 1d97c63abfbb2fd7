# The emulator is right about correct code and catches what it says it catches.
gs_test(emulator SOURCES ${CMAKE_CURRENT_LIST_DIR}/emulator_faults_test.cpp ${CMAKE_CURRENT_LIST_DIR}/emulator_kernels_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/emulator_runtime_test.cpp LIBS gs_cuda_emulator)
gs_test(emulated_device SOURCES ${CMAKE_CURRENT_LIST_DIR}/emulated_device_test.cpp LIBS gs_cuda_emulated)
