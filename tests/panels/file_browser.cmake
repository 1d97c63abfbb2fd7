if(GAUSSCOPE_STUDIO)
  gs_test(file_browser SOURCES ${CMAKE_CURRENT_LIST_DIR}/file_browser_test.cpp LIBS gs_panels)
endif()
