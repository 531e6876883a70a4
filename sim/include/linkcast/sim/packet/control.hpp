// Congestion control: what a sender's rate and window are after what it was told. One set of parameters for each
// transport, one small state for each flow, no events of their own: timers are brought up to date when a flow is asked.
// The rules and their sources stand in the headers of the algorithms (control/*.hpp). Knows no network.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "linkcast/sim/packet/control/dcqcn.hpp"
#include "linkcast/sim/packet/control/dctcp.hpp"
#include "linkcast/sim/packet/control/hpcc.hpp"
#include "linkcast/sim/packet/control/infiniband_cct.hpp"
#include "linkcast/sim/packet/control/nscc.hpp"
#include "linkcast/sim/packet/control/swift.hpp"
#include "linkcast/sim/packet/control/timely.hpp"
#include "linkcast/sim/packet/control_signals.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::sim::packet {

/// No congestion control: line rate, and a window where one is set.
struct Uncontrolled {
  Bytes window{0};  // 0: as much as there is
};

using ControlSettings = std::variant<Uncontrolled, dcqcn::Settings, infiniband_cct::Settings, dctcp::Settings,
                                     timely::Settings, swift::Settings, hpcc::Settings, nscc::Settings>;

/// What makes no sense in the settings, each as "parameter: what was expected"; empty where all is well.
std::vector<std::string> problems(const ControlSettings& settings);

class UncontrolledFlow {
 public:
  static constexpr bool every_ack = false, telemetry = false, notifications = false;

  UncontrolledFlow(const Uncontrolled& settings, const Path& path)
      : window_{settings.window > Bytes{} ? settings.window : no_window}, line_{path.line} {}
  Time sent(Time, Bytes) { return {}; }
  Bytes window() const { return window_; }
  void acked(const Ack&) {}
  void notified(Time) {}
  void lost(Time, Bytes) {}
  void timed_out(Time) {}
  Rate rate(Time) const { return line_; }

 private:
  Bytes window_;
  Rate line_;
};

/// The states of all flows of one transport. Calls of different flows may come from different threads after add().
class ControlBank {
  using Flows = std::variant<std::vector<UncontrolledFlow>, std::vector<dcqcn::Flow>, std::vector<infiniband_cct::Flow>,
                             std::vector<dctcp::Flow>, std::vector<timely::Flow>, std::vector<swift::Flow>,
                             std::vector<hpcc::Flow>, std::vector<nscc::Flow>>;

  // A switch, not std::visit: what it calls is inlined, and there is no table to jump through.
  template <class Bank, class Call>
  static decltype(auto) on(Bank& bank, std::uint32_t flow, Call&& call) {
    static_assert(std::variant_size_v<Flows> == 8);
    switch (bank.flows_.index()) {
      case 0:
        return call((*std::get_if<0>(&bank.flows_))[flow]);
      case 1:
        return call((*std::get_if<1>(&bank.flows_))[flow]);
      case 2:
        return call((*std::get_if<2>(&bank.flows_))[flow]);
      case 3:
        return call((*std::get_if<3>(&bank.flows_))[flow]);
      case 4:
        return call((*std::get_if<4>(&bank.flows_))[flow]);
      case 5:
        return call((*std::get_if<5>(&bank.flows_))[flow]);
      case 6:
        return call((*std::get_if<6>(&bank.flows_))[flow]);
      default:
        return call((*std::get_if<7>(&bank.flows_))[flow]);
    }
  }

 public:
  /// Requires problems(settings) to be empty.
  explicit ControlBank(const ControlSettings& settings);

  std::uint32_t add(const Path& path);

  /// From the start of a packet of `size` (on the wire) until the flow may start its next; counts it as sent. Zero
  /// where only the port limits it.
  Time sent(std::uint32_t flow, Time now, Bytes size) {
    return on(*this, flow, [&](auto& f) { return f.sent(now, size); });
  }
  /// Bytes that may be under way; no_window for no limit. Never less than a packet.
  Bytes window(std::uint32_t flow) const {
    return on(*this, flow, [](auto& f) { return f.window(); });
  }
  void acked(std::uint32_t flow, const Ack& ack) {
    on(*this, flow, [&](auto& f) { f.acked(ack); });
  }
  /// A CNP or BECN came.
  void notified(std::uint32_t flow, Time now) {
    on(*this, flow, [&](auto& f) { f.notified(now); });
  }
  void lost(std::uint32_t flow, Time now, Bytes size) {
    on(*this, flow, [&](auto& f) { f.lost(now, size); });
  }
  void timed_out(std::uint32_t flow, Time now) {
    on(*this, flow, [&](auto& f) { f.timed_out(now); });
  }
  /// The rate at which it may send now, for statistics.
  Rate rate(std::uint32_t flow, Time now) {
    return on(*this, flow, [&](auto& f) { return f.rate(now); });
  }

  bool wants_every_ack() const;      // else acknowledgements may be gathered
  bool wants_telemetry() const;      // switches write Hop records into packets
  bool wants_notifications() const;  // the receiver answers marked packets with CNPs

 private:
  std::unique_ptr<const ControlSettings> settings_;  // flows refer to it: it stays where it is when the bank moves
  Flows flows_;
};

}  // namespace linkcast::sim::packet
