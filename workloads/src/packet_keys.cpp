// See packet_keys.hpp.
#include "linkcast/workloads/packet_keys.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkcast::workloads {
namespace {

namespace packet = sim::packet;
using models::PacketSettings;
using trace::Fields;
using trace::Problems;
using trace::Value;

class Reader {
 public:
  Reader(Problems& problems, const Value& map, sim::Rate line, PacketSettings& s)
      : problems_{problems}, map_{map}, line_{line}, s_{s}, f_{problems, map, "'packet'"} {}

  void read() {
    if (!f_.sound()) return;
    size(f_, "mtu", s_.mtu, 1, 65'535);
    size(f_, "train", s_.train, 1, 65'535);
    if (const auto n = f_.integer("seed", 0, std::int64_t{1} << 62)) s_.seed = static_cast<std::uint64_t>(*n);
    if (const auto n = f_.integer("partitions", 1, 255)) s_.partitions = static_cast<int>(*n);
    if (const auto n = f_.integer("threads", 1, 255)) s_.threads = static_cast<int>(*n);
    time(f_, "sample_every", s_.sample_every);
    size(f_, "memory", s_.memory);
    choice(f_, "routing", s_.routing, {"hash", "by_destination", "spray", "adaptive", "flowlet"});
    time(f_, "flowlet_gap", s_.flowlet_gap);
    choice(f_, "flow_control", s_.flow_control, {"none", "credit", "pause"});
    lanes();
    buffer();
    marking();
    transport();
    if (const auto* v = f_.find("control")) read_packet_control(problems_, *v, line_, s_.control);
    if (const auto* v = f_.find("bit_error_rate"))
      if (const auto x = trace::number_of(problems_, *v, "bit_error_rate", 0, 0.0099)) s_.bit_error_rate = *x;
    flag(f_, "link_retry", s_.link_retry);
    flag(f_, "trim", s_.trim);
    host();
    f_.done();
    fit();
    impossible();
  }

 private:
  template <typename Enum>
  void choice(Fields& f, std::string_view key, Enum& out, const std::vector<std::string>& words) {
    const auto word = f.word(key);
    if (!word) return;
    const auto found = std::ranges::find(words, *word);
    if (found != words.end())
      out = static_cast<Enum>(found - words.begin());
    else
      problems_.add(*f.find(key), fmt::format("'{}' is no {}", *word, key), trace::suggest(*word, words));
  }
  void flag(Fields& f, std::string_view key, bool& out) { out = f.boolean(key).value_or(out); }
  void time(Fields& f, std::string_view key, sim::Time& out) { out = f.time(key, true).value_or(out); }
  template <typename Size>
  void size(Fields& f, std::string_view key, Size& out, std::int64_t low = 0, std::int64_t high = -1) {
    const auto* v = f.find(key);
    if (v == nullptr) return;
    const auto n = trace::size_of(problems_, *v, key, low == 0);
    if (n && high >= 0 && n->count() > high)
      problems_.add(*v, fmt::format("'{}' is {}: a packet carries {} to {} B", key, v->text, low, high));
    else if (n)
      out = *n;
  }
  void factor(Fields& f, std::string_view key, double& out) {
    const auto* v = f.find(key);
    if (v == nullptr) return;
    const auto x = trace::number_of(problems_, *v, key, -1e9, 1e9);
    if (x && *x <= 0)
      problems_.add(*v, fmt::format("'{}' is {}: it must be positive", key, v->text),
                    "the share of the free buffer that one input or queue may take; 1/8 to 8 are usual");
    else if (x)
      out = *x;
  }

  void lanes() {
    const auto* v = f_.find("lanes");
    if (v == nullptr) {
      // Whether its lanes lose is what flow control is for.
      if (map_.get("flow_control") != nullptr)
        for (auto& lane : s_.lanes) lane.lossless = s_.flow_control != packet::FlowControl::none;
      return;
    }
    if (!v->is_sequence() || v->items.empty() || v->items.size() > 8) {
      problems_.add(*v, "'lanes' must be a list of 1 to 8 lanes", "- {lossless: true, strict: false, marks: true}");
      return;
    }
    s_.lanes.clear();
    for (const auto& item : v->items) {
      auto& lane = s_.lanes.emplace_back();
      lane.lossless = s_.flow_control != packet::FlowControl::none;
      Fields f{problems_, item, "the lane"};
      flag(f, "lossless", lane.lossless);
      flag(f, "strict", lane.strict);
      flag(f, "marks", lane.marks);
      f.done();
    }
    s_.data_lane = s_.lanes.size() > 1 ? 1 : 0;
  }

  void buffer() {
    const auto* v = f_.find("buffer");
    if (v == nullptr) return;
    Fields f{problems_, *v, "'buffer'"};
    auto& b = s_.buffer;
    size(f, "shared", b.shared);
    size(f, "input", b.input);
    size(f, "headroom", b.headroom);
    size(f, "reserve", b.reserve);
    size(f, "resume_offset", b.resume_offset);
    factor(f, "alpha", b.alpha);
    factor(f, "lossy_alpha", b.lossy_alpha);
    f.done();
    for (const auto& [key, what] : {std::pair{"shared", &b.shared}, {"input", &b.input}}) {
      const auto* at = v->get(key);
      if (at != nullptr && *what && **what < s_.mtu)
        problems_.add(*at,
                      fmt::format("'{}' holds no packet: it is {} B, a packet carries {} B", key, (*what)->count(),
                                  s_.mtu.count()),
                      "make it larger, or the mtu smaller");
    }
    if (b.headroom && b.shared && *b.headroom > *b.shared)
      problems_.add(
          v->get("headroom") != nullptr ? *v->get("headroom") : *v,
          fmt::format("'headroom' of {} B is larger than the buffer of {} B", b.headroom->count(), b.shared->count()),
          "the headroom of one input must fit in the switch");
  }

  void marking() {
    const auto* v = f_.find("marking");
    if (v == nullptr) return;
    if (v->is_scalar()) {
      s_.marking.on = f_.boolean("marking").value_or(s_.marking.on);
    } else {
      Fields f{problems_, *v, "'marking'"};
      if (!f.sound()) return;
      s_.marking.on = true;
      size(f, "kmin", s_.marking.kmin);
      size(f, "kmax", s_.marking.kmax);
      if (const auto* p = f.find("pmax"))
        if (const auto x = trace::number_of(problems_, *p, "pmax", 1e-9, 1)) s_.marking.pmax = *x;
      f.done();
    }
    const auto& m = s_.marking;
    if (m.on && m.kmax.count() == 0)
      problems_.add(*v, "'marking' has no thresholds: this network has none of its own",
                    "{kmin: 1 MiB, kmax: 2 MiB, pmax: 0.05}");
    else if (m.on && m.kmin > m.kmax)
      problems_.add(*v, fmt::format("'kmin' of {} B is above 'kmax' of {} B", m.kmin.count(), m.kmax.count()),
                    "marking begins at kmin and is certain beyond kmax");
  }

  void transport() {
    const auto* v = f_.find("transport");
    if (v == nullptr) return;
    Fields f{problems_, *v, "'transport'"};
    choice(f, "recovery", s_.recovery, {"none", "go_back_n", "selective"});
    if (const auto n = f.integer("ack_every", 1, 255)) s_.ack_every = static_cast<int>(*n);
    if (const auto t = f.time("retransmit_timeout")) {
      if (*t < sim::Time::microseconds(1))  // below any round trip: every packet would go again and again
        problems_.add(*f.find("retransmit_timeout"),
                      fmt::format("'retransmit_timeout' is {}: less than 1 us", f.find("retransmit_timeout")->text),
                      "more than a round trip; InfiniBand's shortest is 8.2 us");
      else
        s_.retransmit_timeout = *t;
    }
    if (const auto n = f.integer("paths", 0, 65'536)) s_.paths = static_cast<int>(*n);
    flag(f, "any_order", s_.any_order);
    if (const auto n = f.integer("lane", 0, 7)) {
      if (static_cast<std::size_t>(*n) < s_.lanes.size())
        s_.data_lane = static_cast<std::uint8_t>(*n);
      else
        problems_.add(*v->get("lane"), fmt::format("no lane {}: there are {}", *n, s_.lanes.size()),
                      "they count from 0");
    }
    f.done();
  }

  void host() {
    const auto* v = f_.find("host");
    if (v == nullptr) return;
    if (v->is_scalar()) {
      flag(f_, "host", s_.host);
      return;
    }
    Fields f{problems_, *v, "'host'"};
    s_.host = true;
    // A lane of PCIe 1.0 carries 250 MB/s.
    constexpr auto slowest = sim::Rate::bytes_per_second(100'000'000);
    if (const auto* r = f.find("rate")) {
      const auto rate = trace::data_rate_of(problems_, *r, "rate");
      if (rate && *rate < slowest)
        problems_.add(*r, fmt::format("'rate' is {}: no host is slower than 100 MB/s", r->text),
                      "a lane of PCIe 1.0 carries 250 MB/s");
      else if (rate)
        s_.host_rate = *rate;
    }
    f.done();
  }

  bool said(std::string_view key) const {
    const auto* t = map_.get("transport");
    return t != nullptr && t->get(key) != nullptr;
  }
  bool reorders() const {
    return s_.paths > 1 || s_.routing == packet::Choice::spray || s_.routing == packet::Choice::adaptive;
  }
  bool lossless() const { return s_.flow_control != packet::FlowControl::none && s_.lanes[s_.data_lane].lossless; }

  /// What the file does not say of the transport follows from what it says of the network: where packets overtake each
  /// other it takes any order, where they are lost it sends them again.
  void fit() {
    if ((reorders() || s_.routing == packet::Choice::flowlet) && !said("any_order")) s_.any_order = true;
    if (said("recovery")) return;
    if (reorders() && s_.recovery == packet::Recovery::go_back_n) s_.recovery = packet::Recovery::selective;
    if (!lossless() && s_.recovery == packet::Recovery::none)
      s_.recovery = s_.any_order ? packet::Recovery::selective : packet::Recovery::go_back_n;
  }

  const Value& at(std::string_view key) const {
    const auto* v = map_.get(key);
    return v != nullptr ? *v : map_;
  }

  void impossible() {
    if (reorders() && (!s_.any_order || s_.recovery == packet::Recovery::go_back_n)) {
      const auto how =
          s_.paths > 1 ? fmt::format("{} paths", s_.paths) : fmt::format("routing {}", models::name_of(s_.routing));
      problems_.add(at("transport"),
                    fmt::format("{} put packets out of order, but the receiver {}", how,
                                s_.any_order ? "takes them in order only (go_back_n)" : "wants order"),
                    "any_order: true with recovery none or selective, or a routing that keeps a flow on one way");
    }
    if (!lossless() && s_.recovery == packet::Recovery::none)
      problems_.add(
          map_.get("transport") != nullptr ? at("transport") : at("flow_control"),
          fmt::format("lane {} may lose packets, but the transport cannot repair that (recovery none)", s_.data_lane),
          "recovery: selective or go_back_n, or flow_control: credit or pause on a lossless lane");
    if (s_.bit_error_rate > 0 && !s_.link_retry && s_.recovery == packet::Recovery::none)
      problems_.add(at("bit_error_rate"), "cables damage packets, but the transport cannot repair that (recovery none)",
                    "link_retry: true, or recovery: selective or go_back_n");
    if (s_.trim && lossless())
      problems_.add(at("trim"), "a lossless lane drops nothing that could be trimmed", "flow_control: none");
  }

  Problems& problems_;
  const Value& map_;
  sim::Rate line_;
  PacketSettings& s_;
  Fields f_;
};

}  // namespace

void read_packet(Problems& problems, const Value& section, sim::Rate line, PacketSettings& settings) {
  Reader{problems, section, line, settings}.read();
}

PacketSettings read_packet_settings(Problems& problems, const Value* section, const topologies::Network& network) {
  sim::Rate line;  // of the fastest port
  for (const auto& c : network.cables())
    if (c.a < network.ports() || c.b < network.ports()) line = std::max(line, network.cable_models()[c.model].bare);
  auto settings = models::packet_settings(network.model(), network.routing(), line);
  if (section == nullptr) return settings;
  // Another choice of links has other usual settings: SRD's sender sprays only where nobody says `routing: hash`.
  const auto* routing = section->get("routing");
  if (routing != nullptr && routing->text == "hash")
    settings = models::packet_settings(network.model(), models::Routing::ecmp, line);
  read_packet(problems, *section, line, settings);
  return settings;
}

}  // namespace linkcast::workloads
