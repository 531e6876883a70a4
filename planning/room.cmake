# Prices and failure rates travel inside the library, as the catalog does.
file(GLOB planning_data CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/planning/data/*.yaml")
set(embedded_data "${PROJECT_BINARY_DIR}/planning/embedded_data.cpp")
add_custom_command(
  OUTPUT "${embedded_data}"
  COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${PROJECT_SOURCE_DIR}/planning/data" "-DOUTPUT=${embedded_data}"
          -DROOM=planning -DNAME=embedded_data
          -P "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake"
  DEPENDS ${planning_data} "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake"
  COMMENT "Embedding prices and failure rates"
  VERBATIM)
target_sources(linkcast_planning PRIVATE "${embedded_data}")

# The report's page, looks and chart specifications travel in the library too, and with them the plotting library, which
# is taken from where it is installed (Debian: libjs-vega). Without it reports have tables only, and say so.
find_path(LINKCAST_VEGA_DIR NAMES vega-view.min.js PATHS /usr/share/javascript/vega /usr/local/share/javascript/vega
          NO_DEFAULT_PATH DOC "Folder of the plotting library Vega, as parts (vega-view.min.js, …)")
find_file(LINKCAST_VEGA_LICENCE NAMES copyright PATHS /usr/share/doc/libjs-vega NO_DEFAULT_PATH
          DOC "The licence of Vega, which has to travel with it")
file(GLOB report_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/planning/report/*")
set(vega_files)
if(LINKCAST_VEGA_DIR)
  foreach(part IN ITEMS canvas dataflow encode event-selector expression format functions interpreter label loader parser
                        runtime scale scenegraph selection statistics time transforms util view-transforms view)
    set(file "${LINKCAST_VEGA_DIR}/vega-${part}.min.js")
    if(NOT EXISTS "${file}")
      message(STATUS "Linkcast: ${file} is missing, so that reports will have no charts")
      set(vega_files)
      break()
    endif()
    list(APPEND vega_files "${file}")
  endforeach()
else()
  message(STATUS "Linkcast: Vega is not installed (Debian: libjs-vega), so that reports will have no charts")
endif()
if(vega_files AND LINKCAST_VEGA_LICENCE)
  list(APPEND vega_files "${LINKCAST_VEGA_LICENCE}")
endif()
set(embedded_report "${PROJECT_BINARY_DIR}/planning/embedded_report.cpp")
set(report_list ${report_files} ${vega_files})
list(JOIN report_list "|" report_list)
add_custom_command(
  OUTPUT "${embedded_report}"
  COMMAND "${CMAKE_COMMAND}" "-DFILES=${report_list}" "-DOUTPUT=${embedded_report}"
          -P "${PROJECT_SOURCE_DIR}/planning/embed_report.cmake"
  DEPENDS ${report_files} ${vega_files} "${PROJECT_SOURCE_DIR}/planning/embed_report.cmake"
  COMMENT "Embedding the report"
  VERBATIM)
target_sources(linkcast_planning PRIVATE "${embedded_report}")

# What the rows of a sweep were made with.
file(GLOB_RECURSE hashed_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/sim/*.?pp" "${PROJECT_SOURCE_DIR}/models/*.?pp"
     "${PROJECT_SOURCE_DIR}/topologies/*.?pp" "${PROJECT_SOURCE_DIR}/topologies/catalog/*.yaml"
     "${PROJECT_SOURCE_DIR}/workloads/*.?pp" "${PROJECT_SOURCE_DIR}/calibration/*.?pp" "${PROJECT_SOURCE_DIR}/calibration/*.inc"
     "${PROJECT_SOURCE_DIR}/planning/*.?pp" "${PROJECT_SOURCE_DIR}/planning/data/*.yaml")
set(source_hash "${PROJECT_BINARY_DIR}/planning/source_hash.cpp")
add_custom_command(
  OUTPUT "${source_hash}"
  COMMAND "${CMAKE_COMMAND}" "-DROOT=${PROJECT_SOURCE_DIR}" "-DOUTPUT=${source_hash}"
          -P "${PROJECT_SOURCE_DIR}/planning/hash_sources.cmake"
  DEPENDS ${hashed_sources} "${PROJECT_SOURCE_DIR}/planning/hash_sources.cmake"
  COMMENT "Hashing the sources"
  VERBATIM)
target_sources(linkcast_planning PRIVATE "${source_hash}")
