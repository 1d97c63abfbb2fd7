# The numbers: oracle, derivatives, CPU backend.
gs_test(support SOURCES ${CMAKE_CURRENT_LIST_DIR}/support_test.cpp LIBS gs_scene)
gs_test(reference SOURCES ${CMAKE_CURRENT_LIST_DIR}/reference_test.cpp LIBS gs_reference)
