# Steps that are measured late, as the session and the command line record them.
if(GAUSSCOPE_STUDIO)
  gs_test(late_reports SOURCES ${CMAKE_CURRENT_LIST_DIR}/late_reports_test.cpp LIBS gs_session gs_cli)
endif()
