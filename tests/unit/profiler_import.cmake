gs_test(profiler_import SOURCES ${CMAKE_CURRENT_LIST_DIR}/profiler_import_test.cpp LIBS gs_profiler nlohmann_json::nlohmann_json ZLIB::ZLIB)
gs_test(profiler_trace_files SOURCES ${CMAKE_CURRENT_LIST_DIR}/profiler_trace_files_test.cpp LIBS gs_profiler)
target_compile_definitions(test_profiler_trace_files PRIVATE GAUSSCOPE_CHECK_TRACE="${CMAKE_CURRENT_LIST_DIR}/../support/check_trace.py"
  GAUSSCOPE_GOLDEN="${CMAKE_CURRENT_LIST_DIR}/golden" GAUSSCOPE_PROTO="${CMAKE_CURRENT_LIST_DIR}/../support")
