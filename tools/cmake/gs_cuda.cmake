# gs_cuda: the CUDA backend. Device layer, rasterizer, training and the way into a GL texture; linked by the program, never
# by a test program that holds the emulated backend. In a build without CUDA it is the few functions that say so.
if(CMAKE_CUDA_COMPILER)
  set(rooms renderer/device/cuda renderer/raster/cuda trainer/cuda)
  if(GAUSSCOPE_STUDIO)
    list(APPEND rooms renderer/present/cuda)
  endif()
  list(TRANSFORM rooms APPEND /*.cu OUTPUT_VARIABLE kernels)
  list(TRANSFORM rooms APPEND /*.cpp OUTPUT_VARIABLE hosts)
  file(GLOB sources CONFIGURE_DEPENDS ${kernels} ${hosts})
else()
  set(sources renderer/device/cuda/absent/absent.cpp renderer/raster/cuda/absent/absent.cpp trainer/cuda/absent/absent.cpp)
  if(GAUSSCOPE_STUDIO)
    list(APPEND sources renderer/present/cuda/absent/absent.cpp)
  endif()
endif()

add_library(gs_cuda STATIC ${sources})
set_target_properties(gs_cuda PROPERTIES UNITY_BUILD OFF)  # host files share names with the CPU's and among themselves
target_link_libraries(gs_cuda PUBLIC gs_raster gs_trainer)
if(GAUSSCOPE_STUDIO)
  target_link_libraries(gs_cuda PUBLIC gs_present PRIVATE glad)
endif()
if(CMAKE_CUDA_COMPILER)
  target_include_directories(gs_cuda SYSTEM PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}>)
  set_source_files_properties(renderer/device/cuda/device.cpp PROPERTIES
    COMPILE_DEFINITIONS "GAUSSCOPE_CUDA_CODE=\"${GAUSSCOPE_CUDA_CODE}\"")
  # Blending meets no denormals: without them a power of two is one instruction. The four decide alike about a pixel.
  set_source_files_properties(renderer/raster/cuda/blend.cu renderer/raster/cuda/composite.cu
    renderer/raster/cuda/blend_backward.cu
    PROPERTIES COMPILE_OPTIONS -ftz=true)
  # No fast mathematics elsewhere: a kernel asks for the fast intrinsics where it wants them. Multiply-adds are fused.
  # nvcc itself writes parentheses around member pointers that the host compiler would warn of; it knows no tls_model (1835).
  # Compressed by Zstandard, code takes a seventh of the space. Drivers before CUDA 12.4 cannot read it; what CUDA 13 makes they
  # cannot run anyway. --compress-mode=size would take a tenth, and 70 times as long.
  set(compression --no-compress)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    set(compression --compress-mode=balance -Xfatbin=-compress-all)
  endif()
  target_compile_options(gs_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-O3 -lineinfo ${compression} --expt-relaxed-constexpr
    -Xptxas=-v -diag-suppress=1835 -Xcompiler=-Wall,-Wextra,-Wshadow,-Wno-parentheses>
    $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${GAUSSCOPE_WERROR}>>:-Werror=all-warnings -Xcompiler=-Werror>)
  # The launcher keeps what ptxas -v says and the PTX beside the object, for tools/kernel_table.py and tests.
  set(launcher ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/ptxas_log.py)
  if(CCACHE)
    list(APPEND launcher ${CCACHE})
  endif()
  set_target_properties(gs_cuda PROPERTIES CUDA_SEPARABLE_COMPILATION OFF CUDA_COMPILER_LAUNCHER "${launcher}")
endif()
