if(GAUSSCOPE_STUDIO)
  add_library(gs_fake_snapshot STATIC EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/fake_snapshot.cpp ${CMAKE_CURRENT_LIST_DIR}/fake_trainer.cpp)
  target_link_libraries(gs_fake_snapshot PUBLIC gs_options gs_panels gs_commands)

  # For looking at panels without an engine; its first lines list the options.
  add_executable(panel_gallery EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/panel_gallery.cpp)
  target_link_libraries(panel_gallery PRIVATE gs_fake_snapshot gs_window gs_io glad)

  gs_test(panels SOURCES ${CMAKE_CURRENT_LIST_DIR}/panel_draw_test.cpp ${CMAKE_CURRENT_LIST_DIR}/panel_click_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/panel_compare_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/panel_parts_test.cpp ${CMAKE_CURRENT_LIST_DIR}/panel_gpu_test.cpp LIBS gs_fake_snapshot)
  gs_test(insights_panel SOURCES ${CMAKE_CURRENT_LIST_DIR}/insights_panel_test.cpp LIBS gs_panels)
  gs_test(trace_panels SOURCES ${CMAKE_CURRENT_LIST_DIR}/trace_panels_test.cpp ${CMAKE_CURRENT_LIST_DIR}/timeline_test.cpp LIBS gs_fake_snapshot)
  gs_test(panel_pictures SOURCES ${CMAKE_CURRENT_LIST_DIR}/panel_pictures_test.cpp ${CMAKE_CURRENT_LIST_DIR}/stored_pictures.cpp
    ${CMAKE_CURRENT_LIST_DIR}/software_canvas.cpp LIBS gs_fake_snapshot gs_io gs_reference PNG::PNG)
  target_compile_definitions(test_panel_pictures PRIVATE GAUSSCOPE_PICTURES="${CMAKE_CURRENT_LIST_DIR}/pictures" GAUSSCOPE_BUILD="${CMAKE_BINARY_DIR}")
endif()
