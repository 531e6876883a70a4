// See packet_control.hpp.
#include "packet_control.hpp"

#include <algorithm>

#include "packet_fields.hpp"

namespace linkcast::workloads {
namespace {

namespace packet = sim::packet;

constexpr double big = 1e9;

void read(PacketFields& f, packet::Uncontrolled& s, sim::Rate) { f.size("window", s.window, true); }

void read(PacketFields& f, packet::dcqcn::Settings& s, sim::Rate line) {
  using Settings = packet::dcqcn::Settings;
  static const std::vector<std::string> presets{"mlx5", "paper2015", "hpcc_repo"};
  if (const auto i = f.choice("preset", presets))
    s = *i == 0 ? Settings::mlx5() : *i == 1 ? Settings::paper2015() : Settings::hpcc_repo(line);
  f.time("rpg_time_reset", s.rpg_time_reset, true);
  f.size("rpg_byte_reset", s.rpg_byte_reset, true);
  f.integer("rpg_threshold", s.rpg_threshold, 1, 31);
  f.rate("rpg_ai_rate", s.rpg_ai_rate);
  f.rate("rpg_hai_rate", s.rpg_hai_rate);
  f.rate("rpg_min_rate", s.rpg_min_rate);
  f.rate("rpg_max_rate", s.rpg_max_rate, true);
  f.integer("rpg_gd", s.rpg_gd, 0, 15);
  f.integer("rpg_min_dec_fac", s.rpg_min_dec_fac, 1, 100);
  f.integer("dce_tcp_g", s.dce_tcp_g, 1, 1023);
  static const std::vector<std::string> readings{"old_weight", "new_weight"};
  if (const auto i = f.choice("dce_tcp_g_reading", readings))
    s.dce_tcp_g_reading = static_cast<packet::dcqcn::GainReading>(*i);
  f.time("dce_tcp_rtt", s.dce_tcp_rtt);
  f.time("rate_reduce_monitor_period", s.rate_reduce_monitor_period, true);
  f.integer("initial_alpha_value", s.initial_alpha_value, 1, 1023);
  f.time("min_time_between_cnps", s.min_time_between_cnps, true);
  f.boolean("clamp_tgt_rate", s.clamp_tgt_rate);
  f.boolean("clamp_tgt_rate_after_time_inc", s.clamp_tgt_rate_after_time_inc);
  f.rate("rate_to_set_on_first_cnp", s.rate_to_set_on_first_cnp, true);
  f.boolean("first_cnp_once", s.first_cnp_once);
}

void read(PacketFields& f, packet::infiniband_cct::Settings& s, sim::Rate) {
  f.integer("ccti_increase", s.ccti_increase, 1, 255);
  f.integer("ccti_min", s.ccti_min, 0, 65'535);
  f.integer("ccti_limit", s.ccti_limit, 1, 65'535);
  f.integer("ccti_timer", s.ccti_timer, 1, 65'535);
}

void read(PacketFields& f, packet::dctcp::Settings& s, sim::Rate) {
  f.number("g", s.g, 1e-6, 1);
  f.rate("additive", s.additive, true);
  f.number("initial_window", s.initial_window, 0, big);
}

void read(PacketFields& f, packet::timely::Settings& s, sim::Rate) {
  f.number("alpha", s.alpha, 1e-6, 1);
  f.number("beta", s.beta, 1e-6, 1);
  f.time("t_low", s.t_low);
  f.time("t_high", s.t_high);
  f.rate("additive", s.additive, true);
  f.integer("hai_threshold", s.hai_threshold, 1, 1000);
  f.integer("hai_factor", s.hai_factor, 1, 1000);
  f.rate("min_rate", s.min_rate);
}

void read(PacketFields& f, packet::swift::Settings& s, sim::Rate) {
  f.number("ai", s.ai, 1e-6, big);
  f.number("beta", s.beta, 1e-6, 1);
  f.number("max_mdf", s.max_mdf, 1e-6, 1);
  f.time("base_target", s.base_target);
  f.time("per_hop", s.per_hop, true);
  f.number("range", s.range, 0, big);
  f.number("fs_min_window", s.fs_min_window, 1e-6, big);
  f.number("fs_max_window", s.fs_max_window, 1e-6, big);
  f.number("min_window", s.min_window, 1e-6, big);
  f.number("max_window", s.max_window, 1e-6, big);
  f.number("initial_window", s.initial_window, 0, big);
  f.integer("retransmit_reset", s.retransmit_reset, 1, 1000);
}

void read(PacketFields& f, packet::hpcc::Settings& s, sim::Rate) {
  f.number("eta", s.eta, 0.01, 1);
  f.integer("max_stage", s.max_stage, 0, 1000);
  f.rate("additive", s.additive, true);
  f.rate("min_rate", s.min_rate);
}

void read(PacketFields& f, packet::nscc::Settings& s, sim::Rate) {
  f.boolean("trimming", s.trimming);
  f.time("target", s.target, true);
  f.number("gamma", s.gamma, 1e-6, 1);
  f.number("max_cut", s.max_cut, 1e-6, 1);
  f.number("max_window", s.max_window, 0.1, big);
  f.number("delay_weight", s.delay_weight, 1e-6, 1);
  f.boolean("quick_adapt", s.quick_adapt);
  f.integer("qa_gate", s.qa_gate, 0, 30);
  f.number("qa_threshold", s.qa_threshold, 0, big);
  f.number("proportional", s.proportional, 0, big);
  f.number("fair", s.fair, 0, big);
  f.number("eta", s.eta, 0, big);
  f.number("fast", s.fast, 0, big);
  f.time("idle_delay", s.idle_delay, true);
  f.integer("adjust_packets", s.adjust_packets, 1, 1'000'000);
}

template <std::size_t... I>
packet::ControlSettings usual(std::size_t which, std::index_sequence<I...>) {
  packet::ControlSettings out;
  ((which == I ? static_cast<void>(out.emplace<I>()) : void()), ...);
  return out;
}

}  // namespace

void read_packet_control(trace::Problems& problems, const trace::Value& v, sim::Rate line,
                         packet::ControlSettings& control) {
  // In the order of ControlSettings.
  static const std::vector<std::string> names{"none",   "dcqcn", "infiniband_cct", "dctcp",
                                              "timely", "swift", "hpcc",           "nscc"};
  static_assert(std::variant_size_v<packet::ControlSettings> == 8);
  const auto pick = [&](std::size_t i) {
    if (i != control.index()) control = usual(i, std::make_index_sequence<8>{});
  };
  if (v.is_scalar()) {  // control: swift
    const auto found = std::ranges::find(names, v.text);
    if (found == names.end())
      problems.add(v, "'" + v.text + "' is no control", trace::suggest(v.text, names));
    else
      pick(static_cast<std::size_t>(found - names.begin()));
    return;
  }
  PacketFields f{problems, v, "'control'"};
  if (!f.fields().sound()) return;
  const bool named = f.fields().find("algorithm") != nullptr;
  const auto i = f.choice("algorithm", names);
  if (named && !i) return;  // its parameters cannot be told
  if (i) pick(*i);
  std::visit([&](auto& settings) { read(f, settings, line); }, control);
  f.fields().done();
}

}  // namespace linkcast::workloads
