# Splat formats: real files, round trips, hostile files.
gs_test(io_splat_files SOURCES ${CMAKE_CURRENT_LIST_DIR}/io_splat_files_test.cpp LIBS gs_io gs_raster nlohmann_json::nlohmann_json)
gs_test(io_splat SOURCES ${CMAKE_CURRENT_LIST_DIR}/io_splat_gltf_test.cpp LIBS gs_io gs_raster)
