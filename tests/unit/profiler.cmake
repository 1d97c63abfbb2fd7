gs_test(profiler_ring SOURCES ${CMAKE_CURRENT_LIST_DIR}/profiler_ring_test.cpp LIBS gs_profiler)
gs_test(profiler_crash SOURCES ${CMAKE_CURRENT_LIST_DIR}/profiler_crash_test.cpp LIBS gs_profiler)
gs_test(profiler_hostile SOURCES ${CMAKE_CURRENT_LIST_DIR}/profiler_hostile_test.cpp LIBS gs_profiler)
gs_test(profiler_store SOURCES ${CMAKE_CURRENT_LIST_DIR}/profiler_store_test.cpp LIBS gs_profiler)
