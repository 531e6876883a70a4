// See packet_keys.hpp.
#include "linkcast/workloads/packet_keys.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "packet_control.hpp"
#include "packet_fields.hpp"

namespace linkcast::workloads {
namespace {

using models::PacketSettings;
using sim::packet::Choice;
using sim::packet::FlowControl;
using sim::packet::Recovery;
using trace::Problems;
using trace::Value;

bool reorders(Choice c) { return c == Choice::spray || c == Choice::adaptive || c == Choice::flowlet; }

/// What the network's own rule is called here, and the rule that gives the nearest usual settings.
models::Routing usual_routing(Choice c) {
  switch (c) {
    case Choice::spray:
    case Choice::flowlet:
      return models::Routing::spray;
    case Choice::adaptive:
      return models::Routing::adaptive;
    case Choice::by_destination:
      return models::Routing::by_destination;
    case Choice::hash:
      break;
  }
  return models::Routing::ecmp;
}

class Reader {
 public:
  Reader(Problems& problems, const Value& section, const topologies::Network& network)
      : problems_{problems}, f_{problems, section, "'packet'"}, network_{network} {}

  PacketSettings read(sim::Rate line) {
    line_ = line;
    s_ = models::packet_settings(network_.model(), network_.routing(), line);
    if (!f_.fields().sound()) return s_;
    static const std::vector<std::string> choices{"hash", "by_destination", "spray", "adaptive", "flowlet"};
    if (const auto i = f_.choice("routing", choices)) {
      const auto choice = static_cast<Choice>(*i);
      s_ = models::packet_settings(network_.model(), usual_routing(choice), line);
      // Where the usual way is many paths from the sender (SRD), the switches hash whatever is said here.
      if (s_.paths == 0) s_.routing = choice;
    }
    f_.size("mtu", s_.mtu);
    f_.size("train", s_.train);
    seed();
    f_.integer("partitions", s_.partitions, 1, 4096);
    f_.integer("threads", s_.threads, 1, 4096);
    f_.time("sample_every", s_.sample_every);
    f_.size("memory", s_.memory);
    f_.time("flowlet_gap", s_.flowlet_gap);
    flow_control();
    lanes();
    buffer();
    marking();
    transport();
    if (const auto* v = f_.fields().find("control")) read_packet_control(problems_, *v, line_, s_.control);
    f_.number("bit_error_rate", s_.bit_error_rate, 0, 1e-3);
    f_.boolean("link_retry", s_.link_retry);
    f_.boolean("trim", s_.trim);
    host();
    f_.fields().done();
    return s_;
  }

 private:
  void seed() {
    if (const auto n = f_.fields().integer("seed", 0, 1'000'000'000)) s_.seed = static_cast<std::uint64_t>(*n);
  }

  void flow_control() {
    static const std::vector<std::string> kinds{"none", "credit", "pause"};
    const auto i = f_.choice("flow_control", kinds);
    if (!i || static_cast<FlowControl>(*i) == s_.flow_control) return;
    s_.flow_control = static_cast<FlowControl>(*i);
    const bool lossless = s_.flow_control != FlowControl::none;
    for (auto& lane : s_.lanes) lane.lossless = lossless;
    // What can lose packets needs somebody who sends them again.
    if (!lossless && s_.recovery == Recovery::none)
      s_.recovery = s_.any_order ? Recovery::selective : Recovery::go_back_n;
  }

  void lanes() {
    const auto* v = f_.fields().find("lanes");
    if (v == nullptr) return;
    if (!v->is_sequence() || v->items.empty() || v->items.size() > 8) {
      problems_.add(*v, "'lanes' must be a list of one to eight",
                    "write - {lossless: true, strict: false, marks: true}");
      return;
    }
    s_.lanes.clear();
    for (const auto& item : v->items) {
      PacketFields lane{problems_, item, "the lane"};
      sim::packet::VirtualLane out;
      lane.boolean("lossless", out.lossless);
      lane.boolean("strict", out.strict);
      lane.boolean("marks", out.marks);
      lane.fields().done();
      s_.lanes.push_back(out);
    }
    s_.data_lane = static_cast<std::uint8_t>(s_.lanes.size() > 1 ? 1 : 0);
  }

  void buffer() {
    const auto* v = f_.fields().find("buffer");
    if (v == nullptr) return;
    PacketFields b{problems_, *v, "'buffer'"};
    auto& out = s_.buffer;
    b.size("shared", out.shared);
    b.size("input", out.input);
    b.size("headroom", out.headroom);
    b.size("reserve", out.reserve, true);
    b.number("alpha", out.alpha, 1.0 / 1024, 1024);
    b.size("resume_offset", out.resume_offset, true);
    b.number("lossy_alpha", out.lossy_alpha, 1.0 / 1024, 1024);
    b.fields().done();
  }

  void marking() {
    const auto* v = f_.fields().find("marking");
    if (v == nullptr) return;
    auto& out = s_.marking;
    if (v->is_scalar() && (v->text == "off" || v->text == "none" || v->text == "false")) {
      out.on = false;
      return;
    }
    PacketFields m{problems_, *v, "'marking'"};
    if (!m.fields().sound()) return;
    if (!out.on && (m.fields().find("kmin") == nullptr || m.fields().find("kmax") == nullptr))
      problems_.add(*v, "marking is off on this kind of network", "write kmin and kmax: {kmin: 1 MiB, kmax: 2 MiB}");
    out.on = true;
    m.size("kmin", out.kmin, true);
    m.size("kmax", out.kmax);
    m.number("pmax", out.pmax, 0, 1);
    m.fields().done();
    if (out.kmin > out.kmax) problems_.add(*v, "'kmin' is larger than 'kmax'");
  }

  void transport() {
    const auto* v = f_.fields().find("transport");
    if (reorders(s_.routing)) s_.any_order = true;
    if (s_.any_order && s_.recovery == Recovery::go_back_n) s_.recovery = Recovery::selective;
    if (v == nullptr) return;
    PacketFields t{problems_, *v, "'transport'"};
    static const std::vector<std::string> recoveries{"none", "go_back_n", "selective"};
    t.integer("ack_every", s_.ack_every, 1, 1'000'000);
    t.time("retransmit_timeout", s_.retransmit_timeout);
    t.integer("paths", s_.paths, 0, 65'536);
    if (s_.paths > 1) s_.any_order = true;
    t.boolean("any_order", s_.any_order);
    if (s_.any_order && s_.recovery == Recovery::go_back_n) s_.recovery = Recovery::selective;
    if (const auto i = t.choice("recovery", recoveries)) s_.recovery = static_cast<Recovery>(*i);
    t.fields().done();
  }

  void host() {
    const auto* v = f_.fields().find("host");
    if (v == nullptr) return;
    if (v->is_scalar() && (v->text == "off" || v->text == "false")) {
      s_.host = false;
      return;
    }
    PacketFields h{problems_, *v, "'host'"};
    h.rate("rate", s_.host_rate);
    h.fields().done();
  }

  Problems& problems_;
  PacketFields f_;
  const topologies::Network& network_;
  PacketSettings s_;
  sim::Rate line_;
};

/// Of the fastest port: after coding.
sim::Rate port_rate(const topologies::Network& network) {
  sim::Rate most;
  for (const auto& c : network.cables())
    if (c.a < network.ports() || c.b < network.ports()) most = std::max(most, network.cable_models()[c.model].bare);
  return most;
}

}  // namespace

PacketSettings read_packet_settings(Problems& problems, const Value* section, const topologies::Network& network) {
  const auto line = port_rate(network);
  if (section == nullptr) return models::packet_settings(network.model(), network.routing(), line);
  return Reader{problems, *section, network}.read(line);
}

}  // namespace linkcast::workloads
