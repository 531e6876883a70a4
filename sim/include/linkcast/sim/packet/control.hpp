// Congestion control: what a sender's rate and window are after what it was told. One set of parameters for each
// transport, one small state for each flow, no events of their own: timers are brought up to date when a flow is asked.
// The rules and their sources stand in the headers of the algorithms (control/*.hpp). Knows no network.
#pragma once

#include <array>
#include <cstdint>
#include <span>
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

/// The states of all flows of one transport. Calls of different flows may come from different threads after add().
class ControlBank {
 public:
  explicit ControlBank(const ControlSettings& settings);

  std::uint32_t add(const Path& path);

  /// From the start of a packet of `size` (on the wire) until the flow may start its next; counts it as sent.
  Time sent(std::uint32_t flow, Time now, Bytes size);
  /// Bytes that may be under way; Bytes::max for none.
  Bytes window(std::uint32_t flow) const;
  void acked(std::uint32_t flow, const Ack& ack);
  void notified(std::uint32_t flow, Time now);  // a CNP or BECN came
  void lost(std::uint32_t flow, Time now, Bytes size);
  void timed_out(std::uint32_t flow, Time now);
  /// The rate at which it may send now, for statistics.
  Rate rate(std::uint32_t flow, Time now);

  bool wants_every_ack() const;      // else acknowledgements may be gathered
  bool wants_telemetry() const;      // switches write Hop records into packets
  bool wants_notifications() const;  // the receiver answers marked packets with CNPs

 private:
  std::variant<std::vector<Bytes>, std::vector<dcqcn::Flow>, std::vector<infiniband_cct::Flow>,
               std::vector<dctcp::Flow>, std::vector<timely::Flow>, std::vector<swift::Flow>, std::vector<hpcc::Flow>,
               std::vector<nscc::Flow>>
      flows_;
  ControlSettings settings_;
};

}  // namespace linkcast::sim::packet
