gs_test(trainer_loss SOURCES ${CMAKE_CURRENT_LIST_DIR}/trainer_loss_test.cpp LIBS gs_trainer nlohmann_json::nlohmann_json)
gs_test(trainer_adam SOURCES ${CMAKE_CURRENT_LIST_DIR}/trainer_adam_test.cpp LIBS gs_trainer)
gs_test(trainer_parts SOURCES ${CMAKE_CURRENT_LIST_DIR}/trainer_parts_test.cpp LIBS gs_trainer)
gs_test(trainer_run SOURCES ${CMAKE_CURRENT_LIST_DIR}/trainer_run_test.cpp LIBS gs_trainer)
