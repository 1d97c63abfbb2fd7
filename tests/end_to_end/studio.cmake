if(GAUSSCOPE_STUDIO)
  gs_test(studio_session SOURCES ${CMAKE_CURRENT_LIST_DIR}/studio_session_test.cpp LIBS gs_session gs_commands)
  gs_test(studio_commands SOURCES ${CMAKE_CURRENT_LIST_DIR}/studio_commands_test.cpp LIBS gs_session gs_commands)
endif()
