#include "linkcast/sim/packet/control.hpp"

#include <type_traits>
#include <utility>

namespace linkcast::sim::packet {
namespace {

// Collects what is wrong; knows the names of parameters as they are written in scenarios.
class Check {
 public:
  void operator()(bool good, const char* parameter, const char* expected) {
    if (!good) found.push_back(std::string{parameter} + ": " + expected);
  }
  std::vector<std::string> found;
};

bool share(double x) { return x > 0 && x <= 1; }

void check(const Uncontrolled& s, Check& need) { need(s.window >= Bytes{}, "window", "a size, or 0 for none"); }

void check(const dcqcn::Settings& s, Check& need) {
  need(s.rpg_time_reset >= Time{}, "rpg_time_reset", "a time, or 0 for no timer");
  need(s.rpg_byte_reset >= Bytes{}, "rpg_byte_reset", "a size, or 0 for no byte counter");
  need(s.rpg_time_reset > Time{} || s.rpg_byte_reset > Bytes{}, "rpg_time_reset",
       "more than 0 where rpg_byte_reset is 0: else no flow recovers");
  need(s.rpg_threshold >= 0, "rpg_threshold", "0 or more");
  need(s.rpg_ai_rate >= Rate{}, "rpg_ai_rate", "0 or more");
  need(s.rpg_hai_rate >= Rate{}, "rpg_hai_rate", "0 or more");
  need(s.rpg_min_rate > Rate{}, "rpg_min_rate", "more than 0");
  need(s.rpg_max_rate >= Rate{}, "rpg_max_rate", "a rate, or 0 for the port's");
  need(s.rpg_max_rate == Rate{} || s.rpg_max_rate >= s.rpg_min_rate, "rpg_max_rate", "no less than rpg_min_rate");
  need(s.rpg_gd >= 10 && s.rpg_gd <= 15, "rpg_gd", "10 (a cut by alpha) to 15 (by alpha / 32)");
  need(s.rpg_min_dec_fac >= 0 && s.rpg_min_dec_fac <= 100, "rpg_min_dec_fac", "0 to 100 per cent");
  need(s.dce_tcp_g >= 0 && s.dce_tcp_g <= 1023, "dce_tcp_g", "0 to 1023");
  need(s.dce_tcp_rtt > Time{}, "dce_tcp_rtt", "more than 0");
  need(s.rate_reduce_monitor_period >= Time{}, "rate_reduce_monitor_period", "0 or more");
  need(s.initial_alpha_value >= 0 && s.initial_alpha_value <= 1024, "initial_alpha_value", "0 to 1024");
  need(s.min_time_between_cnps >= Time{}, "min_time_between_cnps", "0 or more");
  need(s.rate_to_set_on_first_cnp >= Rate{}, "rate_to_set_on_first_cnp", "a rate, or 0 for none");
}

void check(const infiniband_cct::Settings& s, Check& need) {
  bool good = !s.table.empty();
  for (const double delay : s.table) good = good && delay >= 0;
  need(good, "cct", "one or more delays, none negative");
  need(s.ccti_increase >= 0 && s.ccti_increase <= 255, "ccti_increase", "0 to 255");
  need(s.ccti_min >= 0, "ccti_min", "0 or more");
  need(s.ccti_limit >= s.ccti_min, "ccti_limit", "no less than ccti_min");
  need(s.ccti_min < static_cast<int>(s.table.size()), "ccti_min", "an entry of the table");
  need(s.ccti_timer >= 0 && s.ccti_timer <= 65535, "ccti_timer", "0 (never) to 65535, in units of 1.024 us");
}

void check(const dctcp::Settings& s, Check& need) {
  need(share(s.g), "g", "more than 0, at most 1");
  need(s.additive >= Rate{}, "additive", "a rate, or 0 for a packet in each round");
  need(s.initial_window >= 0, "initial_window", "packets, or 0 for the bandwidth-delay product");
}

void check(const timely::Settings& s, Check& need) {
  need(share(s.alpha), "alpha", "more than 0, at most 1");
  need(share(s.beta), "beta", "more than 0, at most 1");
  need(s.t_low >= Time{}, "t_low", "0 or more");
  need(s.t_high > s.t_low, "t_high", "more than t_low");
  need(s.additive >= Rate{}, "additive", "a rate, or 0 for a thousandth of the line");
  need(s.hai_threshold >= 1, "hai_threshold", "1 or more");
  need(s.hai_factor >= 1, "hai_factor", "1 or more");
  need(s.min_rate > Rate{}, "min_rate", "more than 0");
}

void check(const swift::Settings& s, Check& need) {
  need(s.ai > 0, "ai", "more than 0");
  need(s.beta > 0, "beta", "more than 0");
  need(share(s.max_mdf), "max_mdf", "more than 0, at most 1");
  need(s.base_target > Time{}, "base_target", "more than 0");
  need(s.per_hop >= Time{}, "per_hop", "a time, or 0 for base_target / 6.55");
  need(s.range >= 0, "range", "0 or more");
  need(s.fs_min_window > 0, "fs_min_window", "more than 0");
  need(s.fs_max_window > s.fs_min_window, "fs_max_window", "more than fs_min_window");
  need(s.min_window > 0, "min_window", "more than 0");
  need(s.max_window >= s.min_window, "max_window", "no less than min_window");
  need(s.initial_window >= 0, "initial_window", "packets, or 0 for the bandwidth-delay product");
  need(s.retransmit_reset >= 1, "retransmit_reset", "1 or more");
}

void check(const hpcc::Settings& s, Check& need) {
  need(share(s.eta), "eta", "more than 0, at most 1");
  need(s.max_stage >= 0, "max_stage", "0 or more");
  need(s.additive >= Rate{}, "additive", "a rate, or 0 for 1/2500 of the line");
  need(s.min_rate > Rate{}, "min_rate", "more than 0");
}

void check(const nscc::Settings& s, Check& need) {
  need(s.target >= Time{}, "target", "a time, or 0 for one by the base RTT");
  need(s.gamma > 0, "gamma", "more than 0");
  need(share(s.max_cut), "max_cut", "more than 0, at most 1");
  need(s.max_window > 0, "max_window", "more than 0");
  need(share(s.delay_weight), "delay_weight", "more than 0, at most 1");
  need(s.qa_gate >= 0 && s.qa_gate <= 30, "qa_gate", "0 to 30");
  need(s.qa_threshold > 0, "qa_threshold", "more than 0");
  need(s.proportional >= 0, "proportional", "0 or more");
  need(s.fair >= 0, "fair", "0 or more");
  need(s.eta >= 0, "eta", "0 or more");
  need(s.fast >= 0, "fast", "0 or more");
  need(s.idle_delay >= Time{}, "idle_delay", "0 or more");
  need(s.adjust_packets >= 0, "adjust_packets", "0 or more");
}

template <std::size_t... I>
void emplace(auto& flows, std::size_t index, std::index_sequence<I...>) {
  ((index == I ? static_cast<void>(flows.template emplace<I>()) : void()), ...);
}

}  // namespace

std::vector<std::string> problems(const ControlSettings& settings) {
  Check need;
  std::visit([&](const auto& s) { check(s, need); }, settings);
  return need.found;
}

ControlBank::ControlBank(const ControlSettings& settings)
    : settings_{std::make_unique<const ControlSettings>(settings)} {
  emplace(flows_, settings.index(), std::make_index_sequence<std::variant_size_v<ControlSettings>>{});
}

std::uint32_t ControlBank::add(const Path& path) {
  return std::visit(
      [&](auto& flows, const auto& settings) -> std::uint32_t {
        using Flow = typename std::remove_reference_t<decltype(flows)>::value_type;
        if constexpr (std::is_constructible_v<Flow, decltype(settings), const Path&>) {
          flows.emplace_back(settings, path);
        }
        return static_cast<std::uint32_t>(flows.size() - 1);
      },
      flows_, *settings_);
}

bool ControlBank::wants_every_ack() const {
  return std::visit([](const auto& f) { return std::decay_t<decltype(f)>::value_type::every_ack; }, flows_);
}

bool ControlBank::wants_telemetry() const {
  return std::visit([](const auto& f) { return std::decay_t<decltype(f)>::value_type::telemetry; }, flows_);
}

bool ControlBank::wants_notifications() const {
  return std::visit([](const auto& f) { return std::decay_t<decltype(f)>::value_type::notifications; }, flows_);
}

}  // namespace linkcast::sim::packet
