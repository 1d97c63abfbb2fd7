gs_test(profiler_import SOURCES ${CMAKE_CURRENT_LIST_DIR}/profiler_import_test.cpp LIBS gs_profiler nlohmann_json::nlohmann_json ZLIB::ZLIB)
