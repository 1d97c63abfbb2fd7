# --backend, on the emulated device.
gs_test(cuda_backend SOURCES ${CMAKE_CURRENT_LIST_DIR}/cuda_backend_test.cpp ${PROJECT_SOURCE_DIR}/app/backend/backend.cpp LIBS gs_cuda_emulated)
