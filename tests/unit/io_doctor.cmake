# The doctor: every finding fires where it must and nowhere else; what can be mended is.
gs_test(io_doctor SOURCES ${CMAKE_CURRENT_LIST_DIR}/io_doctor_test.cpp LIBS gs_doctor)
