# What another program makes of our files; skipped without node and the npm package.
add_test(NAME splat_transform COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/splat_transform_test.py)
set_tests_properties(splat_transform PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT "GAUSSCOPE=$<TARGET_FILE:gausscope>")
