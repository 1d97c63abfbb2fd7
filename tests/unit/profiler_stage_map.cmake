gs_test(profiler_stage_map SOURCES ${CMAKE_CURRENT_LIST_DIR}/profiler_stage_map_test.cpp ${CMAKE_CURRENT_LIST_DIR}/assets_test.cpp LIBS gs_profiler)
