# The catalog travels inside the library: cmake/embed_files.cmake writes it into one source file, so that nothing is
# looked up on disk at run time.
file(GLOB_RECURSE catalog_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/topologies/catalog/*.yaml")
set(embedded_catalog "${PROJECT_BINARY_DIR}/topologies/embedded_catalog.cpp")
add_custom_command(
  OUTPUT "${embedded_catalog}"
  COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${PROJECT_SOURCE_DIR}/topologies/catalog" "-DOUTPUT=${embedded_catalog}"
          -DROOM=topologies -DNAME=embedded_catalog
          -P "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake"
  DEPENDS ${catalog_files} "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake"
  COMMENT "Embedding the topology catalog"
  VERBATIM)
target_sources(linkcast_topologies PRIVATE "${embedded_catalog}")
