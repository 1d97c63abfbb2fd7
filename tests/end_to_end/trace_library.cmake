if(GAUSSCOPE_STUDIO)
  gs_test(trace_library SOURCES ${CMAKE_CURRENT_LIST_DIR}/trace_library_test.cpp LIBS gs_commands gs_fake_snapshot)
endif()
