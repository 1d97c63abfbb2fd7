gs_test(service_budget SOURCES ${CMAKE_CURRENT_LIST_DIR}/service_budget_test.cpp LIBS gs_record)
gs_test(service_endpoint SOURCES ${CMAKE_CURRENT_LIST_DIR}/service_endpoint_test.cpp LIBS gs_profiler)
gs_test(service_collector SOURCES ${CMAKE_CURRENT_LIST_DIR}/service_collector_test.cpp LIBS gs_profiler)
