# The built program, run as a user runs it. Standard Python only.
foreach(group Usage Files Training Interruptions Output BadInput Render Bench)
  string(TOLOWER ${group} name)
  add_test(NAME cli_${name} COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/cli_test.py ${group})
  set_tests_properties(cli_${name} PROPERTIES ENVIRONMENT "GAUSSCOPE=$<TARGET_FILE:gausscope>")
endforeach()
