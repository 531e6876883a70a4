# How things are compiled, apart from what they are: where programs land, the compiler cache, optional link-time
# optimisation. Knows no room and no test.

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

# The cache is taken when it is installed and nobody chose a launcher. Precompiled headers carry a time stamp and
# definitions that the cache must be told to overlook, else every file that uses one is a miss.
option(LINKCAST_CCACHE "Compile through ccache when it is installed" ON)
if(LINKCAST_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(LINKCAST_CCACHE_PROGRAM ccache)
  if(LINKCAST_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
        "${LINKCAST_CCACHE_PROGRAM}")
  endif()
endif()

option(LINKCAST_LTO "Optimise across translation units (slow to link)" OFF)
if(LINKCAST_LTO)
  include(CheckIPOSupported)
  check_ipo_supported()
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
endif()

# linkcast_command(<name> MAIN <file> ROOM <room>): a program in bin/, made of one file over a room.
function(linkcast_command name)
  cmake_parse_arguments(ARG "" "MAIN;ROOM" "" ${ARGN})
  if(NOT EXISTS "${PROJECT_SOURCE_DIR}/${ARG_MAIN}")
    return()
  endif()
  add_executable(${name} "${PROJECT_SOURCE_DIR}/${ARG_MAIN}")
  target_link_libraries(${name} PRIVATE linkcast::${ARG_ROOM} linkcast_warnings)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()
