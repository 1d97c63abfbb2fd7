# The emulator is right about correct code and catches what it says it catches.
gs_test(emulator SOURCES ${CMAKE_CURRENT_LIST_DIR}/emulator_faults_test.cpp ${CMAKE_CURRENT_LIST_DIR}/emulator_kernels_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/emulator_runtime_test.cpp LIBS gs_cuda_emulator)
gs_test(emulated_device SOURCES ${CMAKE_CURRENT_LIST_DIR}/emulated_device_test.cpp LIBS gs_cuda_emulated)
# The whole backend once more as strict as a GPU: device memory out of the host's reach, work done no earlier than somebody
# waits or asks for it, events that lag, and another schedule. (Lists of parts that come before this one by name.)
foreach(part cuda_backward cuda_device cuda_forward cuda_present cuda_timing cuda_training raster)
  if(TARGET test_${part})
    set(left_out "")
    if(part STREQUAL raster)
      set(left_out "--gtest_filter=-*Cpu*")  # the backend that no emulator runs
    endif()
    add_test(NAME ${part}_strict COMMAND test_${part} --gtest_brief=1 ${left_out})
    set_tests_properties(${part}_strict PROPERTIES ENVIRONMENT
      "GAUSSCOPE_EMULATOR_SEPARATE=1;GAUSSCOPE_EMULATOR_DEFERRED=1;GAUSSCOPE_EMULATOR_LAG=2;GAUSSCOPE_EMULATOR_SEED=77")
  endif()
endforeach()
