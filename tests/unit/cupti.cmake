# CUPTI and NVML in the injection library, on mocks of the CUDA driver, CUPTI and NVML: no GPU, no toolkit.
add_executable(cuda_program ${PROJECT_SOURCE_DIR}/tests/support/cuda_program.cpp)
target_link_libraries(cuda_program PRIVATE gs_options mock_cuda Threads::Threads ${CMAKE_DL_LIBS})
add_dependencies(cuda_program mock_cuda_all)
foreach(name trainer session nvml)
  gs_test(cupti_${name} SOURCES ${CMAKE_CURRENT_LIST_DIR}/cupti_${name}_test.cpp ${CMAKE_CURRENT_LIST_DIR}/cupti_program.cpp
    LIBS gs_profiler)
  target_compile_definitions(test_cupti_${name} PRIVATE GAUSSCOPE_MOCK_CUDA="${GAUSSCOPE_MOCK_CUDA}"
    GAUSSCOPE_FAKE_TRAINER="$<TARGET_FILE:fake_trainer>" GAUSSCOPE_CUDA_PROGRAM="$<TARGET_FILE:cuda_program>"
    GAUSSCOPE_INJECT_LIBRARY="$<TARGET_FILE:gausscope_inject>")
  add_dependencies(test_cupti_${name} gausscope_inject fake_trainer cuda_program mock_cuda_all)
endforeach()
# The parts that need no process: the sources themselves, because the library exports nothing.
file(GLOB cupti_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/profiler/inject/cupti_*.cpp)
gs_test(cupti_records SOURCES ${CMAKE_CURRENT_LIST_DIR}/cupti_records_test.cpp ${cupti_sources}
  ${PROJECT_SOURCE_DIR}/profiler/inject/settings.cpp LIBS gs_record)
target_link_libraries(test_cupti_records PRIVATE ${CMAKE_DL_LIBS})
gs_test(cupti_headers SOURCES ${CMAKE_CURRENT_LIST_DIR}/cupti_headers_test.cpp)
if(NVTX_INCLUDE)  # where the toolkit's other headers are
  target_include_directories(test_cupti_headers SYSTEM PRIVATE ${NVTX_INCLUDE})
endif()
