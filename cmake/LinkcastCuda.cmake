# Whether `linkcast calibrate measure` can reach real GPUs: LINKCAST_HAS_CUDA, and LINKCAST_NCCL_INCLUDE / _LIBRARY where
# NCCL is there. Neither the driver nor NCCL nor NVML is linked: they are opened when they are needed, so that the
# command starts where they are not.

set(LINKCAST_CUDA AUTO CACHE STRING "Build calibrate measure for real GPUs: AUTO (where CUDA is found), ON or OFF")
set_property(CACHE LINKCAST_CUDA PROPERTY STRINGS AUTO ON OFF)
set(LINKCAST_HAS_CUDA FALSE)

if(LINKCAST_CUDA STREQUAL "AUTO" OR LINKCAST_CUDA)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    # nvcc is often installed without being in PATH. By way of CUDACXX, so that check_language tries it out first.
    find_program(LINKCAST_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
    mark_as_advanced(LINKCAST_NVCC)
    if(LINKCAST_NVCC)
      set(ENV{CUDACXX} "${LINKCAST_NVCC}")
    endif()
  endif()
  if(NOT CMAKE_CUDA_HOST_COMPILER AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}")
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    # Code for A100 and H100; for all others the driver compiles the intermediate form when the program starts.
    set(CMAKE_CUDA_ARCHITECTURES 75-virtual 80-real 90-real)
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit)
  endif()
  if(CMAKE_CUDA_COMPILER AND CUDAToolkit_FOUND AND TARGET CUDA::cudart_static)
    set(LINKCAST_HAS_CUDA TRUE)
    find_path(LINKCAST_NCCL_INCLUDE nccl.h HINTS ENV NCCL_HOME PATHS ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
    find_library(LINKCAST_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ENV NCCL_HOME
                 PATHS "${CUDAToolkit_LIBRARY_ROOT}" "${CUDAToolkit_LIBRARY_DIR}" PATH_SUFFIXES lib lib64)
    mark_as_advanced(LINKCAST_NCCL_INCLUDE LINKCAST_NCCL_LIBRARY)
    message(STATUS "calibrate measure: CUDA ${CUDAToolkit_VERSION}, NCCL ${LINKCAST_NCCL_LIBRARY}")
  elseif(NOT LINKCAST_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "LINKCAST_CUDA=${LINKCAST_CUDA}, but no CUDA toolkit works here. Set CMAKE_CUDA_COMPILER to "
                        "nvcc's path, or use -DLINKCAST_CUDA=OFF.")
  else()
    message(STATUS "calibrate measure: no CUDA, so no real GPUs (--twin works)")
  endif()
endif()
