# What the profiling service costs: build/tests/service_bench [--capture DIR] [--pairs N] [-o FILE]; docs/profiling.md.
add_executable(service_bench EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/service_bench.cpp
  ${CMAKE_CURRENT_LIST_DIR}/service_bench_ranges.cpp ${CMAKE_CURRENT_LIST_DIR}/service_bench_trainer.cpp)
target_link_libraries(service_bench PRIVATE gs_options gs_profiler gs_sample nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})
target_compile_definitions(service_bench PRIVATE GAUSSCOPE_INJECT="$<TARGET_FILE:gausscope_inject>"
  GAUSSCOPE_PROGRAM="$<TARGET_FILE:gausscope>")
add_dependencies(service_bench gausscope_inject gausscope)
