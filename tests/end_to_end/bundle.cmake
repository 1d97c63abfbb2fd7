# The bundle is made and then used. Not with sanitizers: their libraries are no part of it.
if(NOT GAUSSCOPE_SANITIZE AND GAUSSCOPE_STUDIO)
  add_test(NAME bundle_make COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target bundle)
  set_tests_properties(bundle_make PROPERTIES FIXTURES_SETUP bundle RUN_SERIAL ON)
  add_test(NAME bundle COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/bundle_test.py
    ${CMAKE_BINARY_DIR}/bundle/${GAUSSCOPE_BUNDLE}.tar.gz)
  set_tests_properties(bundle PROPERTIES FIXTURES_REQUIRED bundle)
endif()
