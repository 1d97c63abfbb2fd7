gs_test(train_adam SOURCES ${CMAKE_CURRENT_LIST_DIR}/train_adam_test.cpp LIBS gs_trainer)
gs_test(train_fox SOURCES ${CMAKE_CURRENT_LIST_DIR}/train_fox_test.cpp LIBS gs_trainer)
