# The numbers: oracle and derivatives.
gs_test(support SOURCES ${CMAKE_CURRENT_LIST_DIR}/support_test.cpp LIBS gs_scene)
gs_test(reference SOURCES ${CMAKE_CURRENT_LIST_DIR}/reference_test.cpp LIBS gs_reference)
gs_test(vjp SOURCES ${CMAKE_CURRENT_LIST_DIR}/vjp_test.cpp LIBS gs_math gs_scene)
gs_test(maps SOURCES ${CMAKE_CURRENT_LIST_DIR}/maps_test.cpp LIBS gs_maps)
