// Gives cmake/precompiled.hpp a target to belong to (LinkcastRoom.cmake). Knows nothing else.
