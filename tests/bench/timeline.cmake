# What the timeline costs a frame against the number of events; its first lines tell how to run it.
if(GAUSSCOPE_STUDIO)
  add_executable(timeline_bench EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/timeline_bench.cpp)
  target_link_libraries(timeline_bench PRIVATE gs_fake_snapshot)
endif()
