# Foreign programs, recorded and attached to as a user does it.
foreach(group Record Attach)
  string(TOLOWER ${group} name)
  add_test(NAME service_${name} COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/record_test.py ${group})
  set_tests_properties(service_${name} PROPERTIES ENVIRONMENT
    "GAUSSCOPE=$<TARGET_FILE:gausscope>;GAUSSCOPE_NVTX_PROGRAM=$<TARGET_FILE:nvtx_program>;GAUSSCOPE_FAKE_TRAINER=$<TARGET_FILE:fake_trainer>;GAUSSCOPE_MOCK_CUDA=${CMAKE_BINARY_DIR}/mock_cuda")
endforeach()
