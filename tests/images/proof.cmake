# Picture metrics of the oracle.
gs_test(reference_metrics SOURCES ${CMAKE_CURRENT_LIST_DIR}/reference_metrics_test.cpp
  LIBS gs_reference gs_io nlohmann_json::nlohmann_json)
