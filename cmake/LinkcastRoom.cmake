# linkcast_room(<name> [ROOMS <room>...] [LIBRARIES <target>...])
# The folder <name>/ as the static library linkcast::<name>: sources under <name>/src, public headers under
# <name>/include. ROOMS is the only place where an arrow between folders can be added; it is public, so a room
# sees the rooms below it and nothing above.
# LIBRARIES are private: third-party headers stay out of public headers (fmt excepted, in sim).

add_library(linkcast_warnings INTERFACE)
target_compile_options(linkcast_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms of GCC 12 on "text" + std::string and on temporaries of aggregates with strings (its PR 105651, 105562).
  target_compile_options(linkcast_warnings INTERFACE -Wno-restrict -Wno-maybe-uninitialized
                         -Wno-stringop-overflow -Wno-array-bounds)
endif()

option(LINKCAST_PCH "Precompile the standard headers (the presets do)" OFF)
if(LINKCAST_PCH)
  add_library(linkcast_precompiled OBJECT "${CMAKE_CURRENT_LIST_DIR}/precompiled.cpp")
  target_link_libraries(linkcast_precompiled PRIVATE linkcast_warnings)
  target_compile_features(linkcast_precompiled PUBLIC cxx_std_20)
  set_target_properties(linkcast_precompiled PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # Precompiled, the standard library is no longer a system header to GCC 12: another of those alarms gets through.
    target_compile_options(linkcast_warnings INTERFACE -Wno-stringop-overread)
  endif()
  target_precompile_headers(linkcast_precompiled PRIVATE "${CMAKE_CURRENT_LIST_DIR}/precompiled.hpp")
endif()

function(linkcast_room name)
  cmake_parse_arguments(ARG "" "" "ROOMS;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${name}/src/*.cpp")
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  if(NOT sources)
    file(WRITE "${PROJECT_BINARY_DIR}/${name}_empty.cpp" "")
    set(sources "${PROJECT_BINARY_DIR}/${name}_empty.cpp")
  endif()
  add_library(linkcast_${name} STATIC ${sources})
  add_library(linkcast::${name} ALIAS linkcast_${name})
  target_compile_features(linkcast_${name} PUBLIC cxx_std_20)
  set_target_properties(linkcast_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF)
  target_include_directories(linkcast_${name} PUBLIC "${PROJECT_SOURCE_DIR}/${name}/include"
                                              PRIVATE "${PROJECT_SOURCE_DIR}/${name}/src")
  list(TRANSFORM ARG_ROOMS PREPEND linkcast_)
  target_link_libraries(linkcast_${name} PUBLIC ${ARG_ROOMS} PRIVATE linkcast_warnings ${ARG_LIBRARIES})
  if(LINKCAST_PCH)
    target_precompile_headers(linkcast_${name} REUSE_FROM linkcast_precompiled)
  endif()
  # What only this room needs (generated sources, an optional library) stands in the room.
  include("${PROJECT_SOURCE_DIR}/${name}/room.cmake" OPTIONAL)
endfunction()
