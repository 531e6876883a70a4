// Calls one reader of a network as import_topology does, for tests of what the reader alone finds.
#pragma once

#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "../../topologies/src/import_parts.hpp"
#include "../../topologies/src/import_text.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace import_test {

using namespace linkcast;              // NOLINT: a header of tests only
using namespace linkcast::topologies;  // NOLINT

struct Read {
  ImportedNetwork net;
  ImportNotes notes;
  std::map<int, int> switches_of_tier, cables_from_tier;  // -1: from a host

  bool knows(const std::string& text) const { return has(notes.known, text); }
  bool assumes(const std::string& text) const { return has(notes.assumed, text); }
  bool lacks(const std::string& text) const { return has(notes.unknown, text); }
  const ImportedSwitch& at(const std::string& name) const {
    for (const auto& s : net.switches) {
      if (s.name == name) return s;
    }
    throw std::runtime_error("no switch " + name);
  }
  /// Cables between two switches, or from a host to a switch.
  int cables(const std::string& a, const std::string& b) const {
    int n = 0;
    for (const auto& c : net.cables) {
      const auto x = name(c.from), y = name(c.to);
      if ((x == a && y == b) || (x == b && y == a)) n += c.count;
    }
    return n;
  }
  std::string name(const ImportedEnd& e) const {
    return e.host >= 0 ? net.hosts[static_cast<std::size_t>(e.host)]
                       : net.switches[static_cast<std::size_t>(e.network_switch)].name;
  }

 private:
  static bool has(const std::vector<std::string>& lines, const std::string& text) {
    for (const auto& l : lines) {
      if (l.find(text) != std::string::npos) return true;
    }
    return false;
  }
};

inline std::string file(const std::string& name) {
  std::ifstream in{std::string{LINKCAST_SOURCE_DIR} + "/tests/data/import/" + name, std::ios::binary};
  if (!in) throw std::runtime_error("no file " + name);
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// Throws what the reader finds wrong.
template <typename Reader>
Read read(Reader reader, const std::string& text, const std::string& name = "file") {
  Read out;
  const auto source = unpacked({name, text});
  const ImportOptions options;
  Problems problems;
  problems.keep(source);
  out.net = reader(ImportInput{source, options, out.notes, problems});
  problems.throw_if_any();
  for (const auto& s : out.net.switches) out.switches_of_tier[s.tier]++;
  for (const auto& c : out.net.cables) {
    const int tier = c.from.host >= 0 ? -1 : out.net.switches[static_cast<std::size_t>(c.from.network_switch)].tier;
    out.cables_from_tier[tier] += c.count;
  }
  return out;
}

/// What is wrong, one line for each problem: "3:7 what".
template <typename Reader>
std::string errors(Reader reader, const std::string& text) {
  std::string out;
  try {
    read(reader, text);
  } catch (const sim::InputError& e) {
    for (const auto& d : e.diagnostics()) {
      out += std::to_string(d.at.line) + ":" + std::to_string(d.at.column) + " " + d.problem + "\n";
    }
  }
  return out;
}

}  // namespace import_test
