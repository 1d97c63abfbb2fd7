gs_test(trainer_loss SOURCES ${CMAKE_CURRENT_LIST_DIR}/trainer_loss_test.cpp LIBS gs_trainer nlohmann_json::nlohmann_json)
gs_test(trainer_adam SOURCES ${CMAKE_CURRENT_LIST_DIR}/trainer_adam_test.cpp LIBS gs_trainer)
