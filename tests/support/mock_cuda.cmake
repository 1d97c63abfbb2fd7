# A CUDA driver, CUPTI and NVML without a GPU, by the names under which programs look for the real ones. Programs that
# use them run with LD_LIBRARY_PATH=${GAUSSCOPE_MOCK_CUDA}.
set(GAUSSCOPE_MOCK_CUDA ${CMAKE_BINARY_DIR}/mock_cuda)
set(mock_dir ${CMAKE_CURRENT_LIST_DIR}/mock_cuda)

add_library(mock_cuda SHARED ${mock_dir}/mock_cuda.cpp)
set_target_properties(mock_cuda PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1)
add_library(mock_nvml SHARED ${mock_dir}/mock_nvml.cpp)
set_target_properties(mock_nvml PROPERTIES OUTPUT_NAME nvidia-ml SUFFIX .so.1)
foreach(generation "12;24" "13;130001")
  list(GET generation 0 major)
  list(GET generation 1 version)
  add_library(mock_cupti_${major} SHARED ${mock_dir}/mock_cupti.cpp ${mock_dir}/mock_cupti_records.cpp
    ${mock_dir}/mock_cupti_delivery.cpp)
  set_target_properties(mock_cupti_${major} PROPERTIES OUTPUT_NAME cupti SUFFIX .so.${major})
  target_compile_definitions(mock_cupti_${major} PRIVATE MOCK_CUPTI_DEFAULT_VERSION=${version})
endforeach()
foreach(library mock_cuda mock_nvml mock_cupti_12 mock_cupti_13)
  set_target_properties(${library} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${GAUSSCOPE_MOCK_CUDA})
  target_link_libraries(${library} PRIVATE gs_options Threads::Threads ${CMAKE_DL_LIBS})
endforeach()
add_custom_target(mock_cuda_all DEPENDS mock_cuda mock_nvml mock_cupti_12 mock_cupti_13)

# A trainer shaped like PyTorch's on that driver. Runs with LD_LIBRARY_PATH as above.
add_executable(fake_trainer ${CMAKE_CURRENT_LIST_DIR}/fake_trainer.cpp)
target_link_libraries(fake_trainer PRIVATE gs_options mock_cuda Threads::Threads ${CMAKE_DL_LIBS})
add_dependencies(fake_trainer mock_cuda_all)
