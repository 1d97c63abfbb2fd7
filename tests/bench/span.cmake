add_executable(span_bench ${CMAKE_CURRENT_LIST_DIR}/span_bench.cpp)
target_link_libraries(span_bench PRIVATE gs_options gs_profiler)
