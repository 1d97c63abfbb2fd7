# renderer/io: photos, captures, splat files; and a seeded mutator over every parser.
gs_test(io
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/io_image_test.cpp ${CMAKE_CURRENT_LIST_DIR}/io_lens_test.cpp ${CMAKE_CURRENT_LIST_DIR}/io_capture_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/io_transforms_test.cpp ${CMAKE_CURRENT_LIST_DIR}/io_ply_test.cpp ${CMAKE_CURRENT_LIST_DIR}/io_bad_input_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/io_real_captures_test.cpp
  LIBS gs_io PkgConfig::TURBOJPEG PNG::PNG)
gs_test(io_memory SOURCES ${CMAKE_CURRENT_LIST_DIR}/io_memory_test.cpp LIBS gs_io)
gs_test(io_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/io_fuzz_test.cpp LIBS gs_io)
