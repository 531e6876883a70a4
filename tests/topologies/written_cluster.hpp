// A small network written out cable by cable, so that a test can leave one out or plug it elsewhere.
#pragma once

#include <string>
#include <vector>

#include "network_fixture.hpp"

namespace linkcast::topologies {

/// Eight machines with two NICs: units of four, a leaf for each rail of a unit ("u0r0" … "u1r1"), two spines, two
/// cables from each leaf to each spine.
struct WrittenCluster {
  std::vector<std::string> switches, cables;

  explicit WrittenCluster(bool labels = true) {
    for (int u = 0; u < 2; ++u) {
      for (int r = 0; r < 2; ++r) {
        const auto at = std::to_string(u), rail = std::to_string(r);
        switches.push_back("{name: u" + at + "r" + rail + ", model: qm9700" +
                           (labels ? ", rail: " + rail + ", group: " + at : "") + "}");
        for (int spine = 0; spine < 2; ++spine)
          cables.push_back("{from: u" + at + "r" + rail + ", to: s" + std::to_string(spine) + ", count: 2}");
      }
    }
    for (int spine = 0; spine < 2; ++spine) switches.push_back("{name: s" + std::to_string(spine) + ", model: qm9700}");
    for (int node = 0; node < 8; ++node) {
      for (int nic = 0; nic < 2; ++nic)
        cables.push_back("{from: \"node[" + std::to_string(node) + "].nic[" + std::to_string(nic) + "]\", to: u" +
                         std::to_string(node / 4) + "r" + std::to_string(nic) + "}");
    }
  }

  /// In the one line that begins with `line`, `from` becomes `to`; an empty `to` drops the line.
  WrittenCluster& change(const std::string& line, const std::string& from, const std::string& to) {
    for (auto* list : {&switches, &cables}) {
      for (auto& l : *list) {
        if (l.find(line) == std::string::npos) continue;
        const auto at = l.find(from);
        REQUIRE(at != std::string::npos);
        if (to.empty())
          l.clear();
        else
          l.replace(at, from.size(), to);
        return *this;
      }
    }
    FAIL("no line " << line);
    return *this;
  }

  std::string yaml() const {
    std::string text = "network:\n  fabric: ib\n  switches:\n";
    for (const auto& s : switches) text += s.empty() ? "" : "    - " + s + "\n";
    text += "  cables:\n";
    for (const auto& c : cables) text += c.empty() ? "" : "    - " + c + "\n";
    return machine_with(2, text);
  }
  Cluster load() const { return cluster_of(yaml()); }
};

}  // namespace linkcast::topologies
