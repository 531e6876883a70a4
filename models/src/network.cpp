#include "linkcast/models/network.hpp"

namespace linkcast::models {

std::string_view name_of(Routing r) {
  switch (r) {
    case Routing::adaptive:
      return "adaptive";
    case Routing::spray:
      return "spray";
    case Routing::ecmp:
      return "ecmp";
    case Routing::by_destination:
      return "by_destination";
  }
  return "unknown";
}

}  // namespace linkcast::models
