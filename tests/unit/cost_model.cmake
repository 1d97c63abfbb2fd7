gs_test(cost_model SOURCES ${CMAKE_CURRENT_LIST_DIR}/cost_model_test.cpp LIBS gs_profiler gs_raster)
