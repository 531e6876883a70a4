// A network written out: switches by name, cables between NICs and switches. What importers write.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "host_list.hpp"
#include "network_yaml.hpp"

namespace linkcast::topologies {
namespace {

constexpr int unset = std::numeric_limits<int>::max();

/// "node[0-31].nic[3]" is 32 ends; names of hosts may be lists as Slurm writes them. Appends to `out`.
void expand_end(MapReader& r, const Value& v, std::vector<std::string>& out) {
  const auto& text = v.text;
  const auto nic = text.rfind(".nic[");
  const auto host = nic == std::string::npos ? std::string{} : text.substr(0, nic);
  if (host.find('[') == std::string::npos || bracketed(host, "node")) {
    out.push_back(text);
    return;
  }
  std::vector<std::string> names;
  const bool numbers = host.starts_with("node[") && host.back() == ']';
  if (const auto bad = expand_host_list(host, names)) return r.problem(v, bad->problem, bad->help);
  for (const auto& name : names) {
    const auto number = numbers ? parse_integer(name.substr(4)) : std::nullopt;
    out.push_back((number ? fmt::format("node[{}]", *number) : name) + text.substr(nic));
  }
}

struct WrittenCable {
  const Value* at = nullptr;
  std::vector<std::string> from, to;
  std::optional<sim::Rate> rate, slowed;
  std::optional<double> metres;
  std::optional<sim::Time> latency;
  int count = 1;
  bool up = true;
};

class Reader {
 public:
  Reader(const NetworkRequest& q, MapReader& r, NetworkBuild& b, const CableLengths& lengths, ClusterNetwork& out)
      : q_{q}, r_{r}, b_{b}, d_{*b.data}, out_{out}, lengths_{lengths} {}

  void run() {
    const auto before = q_.context.problems->count();
    if (const auto* v = r_.find("switches")) list(*v, "switches", [&](const Value& s) { read_switch(s); });
    if (const auto* v = r_.need("cables")) list(*v, "cables", [&](const Value& c) { read_cable(c); });
    if (q_.context.problems->count() != before) return;
    count_machines();
    if (out_.nodes > max_nodes) return;
    const NetworkBuild sized{plan_, b_.refuse};
    if (!sized.fits(static_cast<double>(d_.switches.size()), static_cast<double>(cables_.size()))) return;
    connect();
    if (q_.context.problems->count() != before) return;
    tiers();
    d_.index_cables();
    check_ports();
    out_.data = b_.data;
  }

 private:
  template <typename F>
  void list(const Value& v, std::string_view key, F one) {
    if (!v.is_sequence()) return r_.problem(v, fmt::format("'{}' must be a list", key));
    for (const auto& item : v.items) {
      if (q_.context.problems->full()) return;
      one(item);
    }
  }

  std::optional<int> small(MapReader& r, std::string_view key, int high) {
    const auto n = r.integer(key, 0, high);
    return n ? std::optional{static_cast<int>(*n)} : std::nullopt;
  }

  void read_switch(const Value& v) {
    MapReader r{q_.context, v, "switch"};
    if (!r.sound()) return;
    const auto name = r.word("name", true);
    const auto tier = small(r, "tier", 15);
    const auto model = r.word("model");
    NetworkSwitch s;
    s.rail = static_cast<std::int16_t>(small(r, "rail", 30'000).value_or(-1));
    s.plane = static_cast<std::int16_t>(small(r, "plane", 30'000).value_or(-1));
    s.group = small(r, "group", 1 << 24).value_or(-1);
    s.tier = static_cast<std::uint8_t>(tier.value_or(0));
    static const std::vector<std::string> states{"up", "down"};
    s.up = r.choice("state", states).value_or("up") == "up";
    r.done();
    const auto* part = q_.parts.network_switch(model.value_or("unknown"), model ? *v.get("model") : v);
    if (!part || !name) return;
    if (name->find(".nic[") != std::string::npos)
      return r.problem(*v.get("name"), fmt::format("'{}' is what a NIC is called, not a switch", *name));
    if (!names_.emplace(*name, d_.switches.size()).second)
      return r.problem(*v.get("name"), fmt::format("two switches are called '{}'", *name));
    if (!model) ++unknown_;
    s.model = b_.switch_model(*part);
    s.index = static_cast<std::int32_t>(d_.switches.size());
    d_.add(s);
    d_.switch_names.push_back(*name);
    tier_.push_back(tier ? *tier : unset);
  }

  void read_cable(const Value& v) {
    MapReader r{q_.context, v, "cable"};
    if (!r.sound()) return;
    WrittenCable c;
    c.at = &v;
    const auto end = [&](std::string_view key, std::vector<std::string>& out) {
      if (!r.word(key, true) || !v.get(key)->is_scalar()) return;
      const auto& at = *v.get(key);
      if (!expand_switches(at.text, out)) expand_end(r, at, out);
    };
    end("from", c.from);
    end("to", c.to);
    c.rate = r.rate("rate");
    c.count = static_cast<int>(r.integer("count", 1, 4096).value_or(1));
    if (const auto* length = r.find("length")) c.metres = read_length(r, *length);
    c.latency = r.time("latency");
    if (const auto* state = r.find("state")) {
      const auto rate = parse_quantity(state->text, Dimension::rate, "state", false);
      if (state->text == "down") {
        c.up = false;
      } else if (const auto* n = std::get_if<std::int64_t>(&rate)) {
        c.slowed = sim::Rate::bytes_per_second(*n);
      } else if (state->text != "up") {
        r.problem(*state, fmt::format("'state' cannot be '{}'", state->text), "up, down, or a rate such as 200 Gb/s");
      }
    }
    r.done();
    if (c.from.size() > 1 && c.to.size() > 1 && c.from.size() != c.to.size())
      r.problem(v, fmt::format("{} ends to {} ends", c.from.size(), c.to.size()),
                "as many on both sides, or one switch");
    if (!c.from.empty() && !c.to.empty()) cables_.push_back(std::move(c));
  }

  /// "leaf[01-16],leaf20": switches that are called so. False for anything else, the name of one switch included.
  bool expand_switches(const std::string& text, std::vector<std::string>& out) const {
    if (text.find_first_of("[,") == std::string::npos || names_.contains(text)) return false;
    std::vector<std::string> names;
    if (expand_host_list(text, names) || !names_.contains(names.front())) return false;
    out.insert(out.end(), names.begin(), names.end());
    return true;
  }

  /// Nodes and ports that are not said are those that cables name.
  void count_machines() {
    int highest = -1, ports = 1;
    for (const auto& c : cables_) {
      for (const auto* side : {&c.from, &c.to}) {
        for (const auto& text : *side) {
          const auto dot = text.find(".nic[");
          if (dot == std::string::npos) continue;
          if (const auto n = bracketed(text.substr(0, dot), "node")) highest = std::max(highest, *n);
          const auto port = text.find(".port[");
          if (port == std::string::npos) continue;
          if (const auto n = bracketed(text.substr(port + 1), "port"); n && *n < 8) ports = std::max(ports, *n + 1);
        }
      }
    }
    if (out_.nodes == 0) out_.nodes = std::max(highest + 1, std::max(1, q_.options.nodes));
    if (out_.nodes > max_nodes) r_.problem(r_.value(), fmt::format("{} nodes: at most {}", out_.nodes, max_nodes));
    plan_ = b_.plan;
    plan_.nodes = out_.nodes;
    plan_.nics = with_ports(plan_.nics, ports);
    for (const auto& n : plan_.nics) ports_.push_back(n.ports);
  }

  void connect() {
    const std::vector<std::string> none;
    const EndNames names{out_.nodes, out_.hosts, ports_, d_.switch_names};
    for (int node = 0; node < out_.nodes; ++node) d_.add_machine(ports_);
    plugged_.assign(d_.places.size(), nullptr);
    for (const auto& c : cables_) {
      const auto n = std::max(c.from.size(), c.to.size());
      for (std::size_t i = 0; i < n; ++i) {
        if (q_.context.problems->full()) return;
        const auto a = end(names, c, c.from[c.from.size() == 1 ? 0 : i], "from");
        const auto b = end(names, c, c.to[c.to.size() == 1 ? 0 : i], "to");
        if (a && b) cable(c, *a, *b);
      }
    }
  }

  std::optional<std::uint32_t> end(const EndNames& names, const WrittenCable& c, const std::string& text,
                                   std::string_view key) {
    const auto& at = *c.at->get(key);
    std::string why;
    const auto e = names.find(text, &why);
    if (!e) {
      r_.problem(at, why.empty() ? fmt::format("a cable to nowhere: '{}'", text) : fmt::format("'{}': {}", text, why),
                 why.empty() ? names.suggest_end(text) : std::string{});
      return std::nullopt;
    }
    if (!e->is_nic()) return d_.end(SwitchId{static_cast<std::uint32_t>(e->network_switch)});
    const auto& nic = plan_.nics[static_cast<std::size_t>(e->nic)];
    if (e->port < 0 && nic.ports > 1) {
      r_.problem(at, fmt::format("'{}' has {} ports", text, nic.ports), fmt::format("say which: {}.port[0]", text));
      return std::nullopt;
    }
    const auto first =
        d_.first_port[d_.first_nic[static_cast<std::size_t>(e->node)] + static_cast<std::uint32_t>(e->nic)];
    const auto port = first + static_cast<std::uint32_t>(std::max(e->port, 0));
    auto& before = plugged_[port];
    if (before || c.count > 1) {
      r_.problem(at, fmt::format("'{}' has more than one cable", text),
                 before ? fmt::format("the first is in line {}", before->line) : "a port takes one");
      return std::nullopt;
    }
    before = &at;
    return port;
  }

  void cable(const WrittenCable& w, std::uint32_t a, std::uint32_t b) {
    const auto ports = static_cast<std::uint32_t>(d_.places.size());
    if (a == b) return r_.problem(*w.at, "a cable from a switch to itself");
    if (a >= ports && b < ports) std::swap(a, b);
    std::optional<sim::Rate> rate = w.rate;
    const auto offer = [&](std::uint32_t e) {
      std::optional<sim::Rate> own;
      if (e < ports) {
        own = plan_.nics[static_cast<std::size_t>(d_.places[e].nic)].rate;
      } else if (const auto& m = d_.switch_models[d_.switches[e - ports].model]; m.name != "unknown") {
        own = m.rate;
      }
      if (own && !w.rate) rate = rate ? std::min(*rate, *own) : own;
    };
    offer(a);
    offer(b);
    if (!rate) {
      return r_.problem(*w.at, "a cable between switches of unknown model has no 'rate'",
                        "add `rate: 400 Gb/s`, or a 'model' to the switches");
    }
    if (w.slowed && *w.slowed > *rate) return r_.problem(*w.at, "'state' is a higher rate than the cable has");
    const auto tier = a < ports ? 0 : 1;
    const auto metres = w.metres.value_or(lengths_.metres[tier]);
    const auto latency = w.latency.value_or(lengths_.latency(metres));
    const auto state = !w.up ? std::string{"down"} : w.slowed ? "slowed" : "up";
    const auto first = d_.cables.size();
    b_.connect(a, b, d_.cable_model(w.slowed.value_or(*rate), latency, state, w.metres.value_or(lengths_.said[tier])),
               w.count);
    for (auto i = first; i < d_.cables.size(); ++i) d_.cables[i].up = w.up;
  }

  /// Where tiers are not said: a switch with machines is a leaf, then by the distance to the nearest leaf.
  void tiers() {
    const auto ports = static_cast<std::uint32_t>(d_.places.size());
    std::vector<std::vector<std::uint32_t>> beside(d_.switches.size());
    std::vector<std::uint32_t> queue;
    std::vector<int> distance(d_.switches.size(), unset);
    for (const auto& c : d_.cables) {
      if (c.a >= ports && c.b >= ports) {
        beside[c.a - ports].push_back(c.b - ports);
        beside[c.b - ports].push_back(c.a - ports);
      } else if (c.b >= ports && distance[c.b - ports] != 0) {
        distance[c.b - ports] = 0;
        queue.push_back(c.b - ports);
      }
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const auto n : beside[queue[i]]) {
        if (distance[n] != unset) continue;
        distance[n] = distance[queue[i]] + 1;
        queue.push_back(n);
      }
    }
    for (std::size_t s = 0; s < d_.switches.size(); ++s) {
      if (tier_[s] == unset)
        d_.switches[s].tier = static_cast<std::uint8_t>(std::min(distance[s] == unset ? 0 : distance[s], 15));
    }
    if (unknown_ > 0)
      out_.assumptions.push_back(fmt::format("{} of {} switches have no model: as many ports as they need, 300 ns",
                                             unknown_, d_.switches.size()));
    const auto bare = std::ranges::count(plugged_, nullptr);
    if (bare > 0) out_.assumptions.push_back(fmt::format("{} of {} NIC ports have no cable", bare, plugged_.size()));
  }

  void check_ports() {
    const auto ports = d_.places.size();
    for (std::size_t s = 0; s < d_.switches.size(); ++s) {
      const auto& m = d_.switch_models[d_.switches[s].model];
      if (m.radix == 0) continue;
      double rate = 0;
      for (auto i = d_.first_arc[ports + s]; i < d_.first_arc[ports + s + 1]; ++i) {
        const auto& c = d_.cables[d_.arcs[i] / 2];
        rate += static_cast<double>(d_.cable_models[c.model].bare.bytes_per_second()) * c.count;
      }
      const auto most = static_cast<double>(m.rate.bytes_per_second()) * m.radix;
      if (rate <= most * (1 + 1e-9)) continue;
      r_.problem(*r_.value().get("switches"),
                 fmt::format("{} has cables of {:.0f} Gb/s together, but {} has {} ports of {:g} Gb/s",
                             d_.switch_names[s], rate * 8e-9, m.name, m.radix, m.rate.GBps() * 8),
                 "is its model right?");
    }
  }

  const NetworkRequest& q_;
  MapReader& r_;
  NetworkBuild& b_;
  Network::Data& d_;
  ClusterNetwork& out_;
  const CableLengths& lengths_;
  NetworkPlan plan_;
  std::vector<WrittenCable> cables_;
  std::unordered_map<std::string, std::size_t> names_;
  std::vector<int> tier_, ports_;
  std::vector<const Value*> plugged_;  // by port: where it was plugged in
  int unknown_ = 0;
};

}  // namespace

void read_explicit_network(const NetworkRequest& q, MapReader& r, NetworkBuild& b, const CableLengths& lengths,
                           ClusterNetwork& out) {
  Reader{q, r, b, lengths, out}.run();
}

}  // namespace linkcast::topologies
