# Prices and failure rates travel inside the library, as the catalog does.
file(GLOB planning_data CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/planning/data/*.yaml")
set(embedded_data "${PROJECT_BINARY_DIR}/planning/embedded_data.cpp")
add_custom_command(
  OUTPUT "${embedded_data}"
  COMMAND "${CMAKE_COMMAND}" "-DDATA=${PROJECT_SOURCE_DIR}/planning/data" "-DOUTPUT=${embedded_data}"
          -P "${PROJECT_SOURCE_DIR}/planning/embed_data.cmake"
  DEPENDS ${planning_data} "${PROJECT_SOURCE_DIR}/planning/embed_data.cmake"
  COMMENT "Embedding prices and failure rates"
  VERBATIM)
target_sources(linkcast_planning PRIVATE "${embedded_data}")
