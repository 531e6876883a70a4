// Gives the precompiled Catch2 header a target to belong to (tests/CMakeLists.txt). Knows nothing else.
