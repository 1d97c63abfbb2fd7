# What ptxas made of every kernel, against the stored table; where nvcc is present.
add_test(NAME kernel_table_rules COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/kernel_table_test.py)
if(CMAKE_CUDA_COMPILER)
  add_test(NAME kernel_table COMMAND /usr/bin/python3 ${PROJECT_SOURCE_DIR}/tools/kernel_table.py ${CMAKE_BINARY_DIR} --check)
  set_tests_properties(kernel_table PROPERTIES SKIP_RETURN_CODE 77)
endif()
