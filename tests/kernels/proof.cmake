# The numbers: oracle, derivatives, CPU backend.
gs_test(support SOURCES ${CMAKE_CURRENT_LIST_DIR}/support_test.cpp LIBS gs_scene)
gs_test(reference SOURCES ${CMAKE_CURRENT_LIST_DIR}/reference_test.cpp LIBS gs_reference)
gs_test(vjp SOURCES ${CMAKE_CURRENT_LIST_DIR}/vjp_test.cpp LIBS gs_math gs_scene)
gs_test(cpu_raster SOURCES ${CMAKE_CURRENT_LIST_DIR}/cpu_raster_files_test.cpp ${CMAKE_CURRENT_LIST_DIR}/cpu_raster_robust_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/cpu_raster_scenes_test.cpp LIBS gs_raster gs_reference)
