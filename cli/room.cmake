# The command's own version, which it prints.
target_compile_definitions(linkcast_cli PRIVATE LINKCAST_VERSION="${PROJECT_VERSION}")
