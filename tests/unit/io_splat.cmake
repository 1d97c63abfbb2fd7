# Splat formats: real files, round trips, hostile files, and a seeded mutator over every reader.
gs_test(io_splat
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/io_splat_files_test.cpp ${CMAKE_CURRENT_LIST_DIR}/io_splat_gltf_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/io_splat_hostile_test.cpp ${CMAKE_CURRENT_LIST_DIR}/io_splat_round_trip_test.cpp
  LIBS gs_io gs_raster nlohmann_json::nlohmann_json ZLIB::ZLIB)
gs_test(io_splat_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/io_splat_fuzz_test.cpp LIBS gs_io)
