// See nics.hpp. The kernel writes "400 Gb/sec (4X NDR)", "4: ACTIVE", "InfiniBand".
#include "nics.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>

namespace linkcast::calibration {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file{path};
  std::string line;
  std::getline(file, line);
  return line;
}

double gbps_of(const std::string& rate) {
  double gbps = 0;
  std::from_chars(rate.data(), rate.data() + rate.size(), gbps);
  return gbps > 0 && gbps < 1e6 ? gbps : 0;
}

}  // namespace

std::vector<NicFacts> nics_in(const fs::path& folder) {
  std::vector<NicFacts> out;
  std::error_code none;
  for (const auto& device : fs::directory_iterator{folder, none}) {
    for (const auto& port : fs::directory_iterator{device.path() / "ports", none}) {
      const auto state = first_line(port.path() / "state");
      const auto colon = state.find(": ");
      out.push_back({device.path().filename().string() + ":" + port.path().filename().string(),
                     colon == std::string::npos ? state : state.substr(colon + 2),
                     first_line(port.path() / "link_layer"), gbps_of(first_line(port.path() / "rate"))});
    }
  }
  std::ranges::sort(out, {}, &NicFacts::name);
  return out;
}

}  // namespace linkcast::calibration
