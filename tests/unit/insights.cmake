gs_test(analysis SOURCES ${CMAKE_CURRENT_LIST_DIR}/analysis_test.cpp ${CMAKE_CURRENT_LIST_DIR}/analysis_compare_test.cpp LIBS gs_profiler)
gs_test(insights SOURCES ${CMAKE_CURRENT_LIST_DIR}/insights_rules_test.cpp ${CMAKE_CURRENT_LIST_DIR}/insights_ranking_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/insights_splatting_test.cpp LIBS gs_profiler)
