# The real machine of `calibrate measure`: with CUDA, or the file that says that there is none.
if(LINKCAST_HAS_CUDA)
  file(GLOB host_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/calibration/cuda/*.cpp")
  target_sources(linkcast_calibration PRIVATE ${host_sources})
  target_include_directories(linkcast_calibration SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  # Device code apart: nvcc knows neither the warnings nor the precompiled header of the rest.
  add_library(linkcast_kernels STATIC "${PROJECT_SOURCE_DIR}/calibration/cuda/kernels.cu")
  set_target_properties(linkcast_kernels PROPERTIES CUDA_STANDARD 17 CUDA_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(linkcast_calibration PRIVATE linkcast_kernels CUDA::cudart_static ${CMAKE_DL_LIBS})
  if(LINKCAST_NCCL_INCLUDE)
    target_include_directories(linkcast_calibration SYSTEM PRIVATE "${LINKCAST_NCCL_INCLUDE}")
    target_compile_definitions(linkcast_calibration PRIVATE LINKCAST_HAS_NCCL
                               LINKCAST_NCCL_LIBRARY="$<$<BOOL:${LINKCAST_NCCL_LIBRARY}>:${LINKCAST_NCCL_LIBRARY}>")
  endif()
else()
  target_sources(linkcast_calibration PRIVATE "${PROJECT_SOURCE_DIR}/calibration/without_cuda/real_machine.cpp")
endif()
