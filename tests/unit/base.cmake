gs_test(base SOURCES ${CMAKE_CURRENT_LIST_DIR}/base_test.cpp LIBS gs_base gs_device)
