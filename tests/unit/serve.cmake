gs_test(serve_metrics SOURCES ${CMAKE_CURRENT_LIST_DIR}/serve_metrics_test.cpp LIBS gs_serve)
gs_test(serve_daemon SOURCES ${CMAKE_CURRENT_LIST_DIR}/serve_daemon_test.cpp LIBS gs_serve nlohmann_json::nlohmann_json)
