// The parameters of congestion control by their names: one table for each algorithm.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "linkcast/workloads/packet_keys.hpp"

namespace linkcast::workloads {
namespace {

namespace packet = sim::packet;
using trace::Fields;
using trace::Problems;
using trace::Value;

template <typename S>
using Member = std::variant<sim::Rate S::*, sim::Time S::*, sim::Bytes S::*, double S::*, int S::*, bool S::*>;

template <typename S>
struct Parameter {
  std::string_view key;
  Member<S> member;
};

using packet::dcqcn::Settings;
constexpr std::array dcqcn_parameters{
    Parameter<Settings>{"rpg_time_reset", &Settings::rpg_time_reset},
    Parameter<Settings>{"rpg_byte_reset", &Settings::rpg_byte_reset},
    Parameter<Settings>{"rpg_threshold", &Settings::rpg_threshold},
    Parameter<Settings>{"rpg_ai_rate", &Settings::rpg_ai_rate},
    Parameter<Settings>{"rpg_hai_rate", &Settings::rpg_hai_rate},
    Parameter<Settings>{"rpg_min_rate", &Settings::rpg_min_rate},
    Parameter<Settings>{"rpg_max_rate", &Settings::rpg_max_rate},
    Parameter<Settings>{"rpg_gd", &Settings::rpg_gd},
    Parameter<Settings>{"rpg_min_dec_fac", &Settings::rpg_min_dec_fac},
    Parameter<Settings>{"dce_tcp_g", &Settings::dce_tcp_g},
    Parameter<Settings>{"dce_tcp_rtt", &Settings::dce_tcp_rtt},
    Parameter<Settings>{"rate_reduce_monitor_period", &Settings::rate_reduce_monitor_period},
    Parameter<Settings>{"initial_alpha_value", &Settings::initial_alpha_value},
    Parameter<Settings>{"min_time_between_cnps", &Settings::min_time_between_cnps},
    Parameter<Settings>{"clamp_tgt_rate", &Settings::clamp_tgt_rate},
    Parameter<Settings>{"clamp_tgt_rate_after_time_inc", &Settings::clamp_tgt_rate_after_time_inc},
    Parameter<Settings>{"rate_to_set_on_first_cnp", &Settings::rate_to_set_on_first_cnp},
    Parameter<Settings>{"first_cnp_once", &Settings::first_cnp_once},
};

using Cct = packet::infiniband_cct::Settings;
constexpr std::array cct_parameters{
    Parameter<Cct>{"ccti_increase", &Cct::ccti_increase},
    Parameter<Cct>{"ccti_min", &Cct::ccti_min},
    Parameter<Cct>{"ccti_limit", &Cct::ccti_limit},
    Parameter<Cct>{"ccti_timer", &Cct::ccti_timer},
};

using Dctcp = packet::dctcp::Settings;
constexpr std::array dctcp_parameters{
    Parameter<Dctcp>{"g", &Dctcp::g},
    Parameter<Dctcp>{"additive", &Dctcp::additive},
    Parameter<Dctcp>{"initial_window", &Dctcp::initial_window},
};

using Timely = packet::timely::Settings;
constexpr std::array timely_parameters{
    Parameter<Timely>{"alpha", &Timely::alpha},           Parameter<Timely>{"beta", &Timely::beta},
    Parameter<Timely>{"t_low", &Timely::t_low},           Parameter<Timely>{"t_high", &Timely::t_high},
    Parameter<Timely>{"additive", &Timely::additive},     Parameter<Timely>{"hai_threshold", &Timely::hai_threshold},
    Parameter<Timely>{"hai_factor", &Timely::hai_factor}, Parameter<Timely>{"min_rate", &Timely::min_rate},
};

using Swift = packet::swift::Settings;
constexpr std::array swift_parameters{
    Parameter<Swift>{"ai", &Swift::ai},
    Parameter<Swift>{"beta", &Swift::beta},
    Parameter<Swift>{"max_mdf", &Swift::max_mdf},
    Parameter<Swift>{"base_target", &Swift::base_target},
    Parameter<Swift>{"per_hop", &Swift::per_hop},
    Parameter<Swift>{"range", &Swift::range},
    Parameter<Swift>{"fs_min_window", &Swift::fs_min_window},
    Parameter<Swift>{"fs_max_window", &Swift::fs_max_window},
    Parameter<Swift>{"min_window", &Swift::min_window},
    Parameter<Swift>{"max_window", &Swift::max_window},
    Parameter<Swift>{"initial_window", &Swift::initial_window},
    Parameter<Swift>{"retransmit_reset", &Swift::retransmit_reset},
};

using Hpcc = packet::hpcc::Settings;
constexpr std::array hpcc_parameters{
    Parameter<Hpcc>{"eta", &Hpcc::eta},
    Parameter<Hpcc>{"max_stage", &Hpcc::max_stage},
    Parameter<Hpcc>{"additive", &Hpcc::additive},
    Parameter<Hpcc>{"min_rate", &Hpcc::min_rate},
};

using Nscc = packet::nscc::Settings;
constexpr std::array nscc_parameters{
    Parameter<Nscc>{"trimming", &Nscc::trimming},
    Parameter<Nscc>{"target", &Nscc::target},
    Parameter<Nscc>{"gamma", &Nscc::gamma},
    Parameter<Nscc>{"max_cut", &Nscc::max_cut},
    Parameter<Nscc>{"max_window", &Nscc::max_window},
    Parameter<Nscc>{"delay_weight", &Nscc::delay_weight},
    Parameter<Nscc>{"quick_adapt", &Nscc::quick_adapt},
    Parameter<Nscc>{"qa_gate", &Nscc::qa_gate},
    Parameter<Nscc>{"qa_threshold", &Nscc::qa_threshold},
    Parameter<Nscc>{"proportional", &Nscc::proportional},
    Parameter<Nscc>{"fair", &Nscc::fair},
    Parameter<Nscc>{"eta", &Nscc::eta},
    Parameter<Nscc>{"fast", &Nscc::fast},
    Parameter<Nscc>{"idle_delay", &Nscc::idle_delay},
    Parameter<Nscc>{"adjust_packets", &Nscc::adjust_packets},
};

using None = packet::Uncontrolled;
constexpr std::array none_parameters{Parameter<None>{"window", &None::window}};

/// Whether zero or another number works is for sim::packet::problems to say.
template <typename S, typename Table>
void read_parameters(Fields& f, S& out, const Table& table) {
  constexpr int most = std::numeric_limits<int>::max();
  for (const auto& p : table) {
    const auto* v = f.find(p.key);
    if (v == nullptr) continue;
    auto& problems = f.problems();
    std::visit(
        [&](auto member) {
          using T = std::remove_reference_t<decltype(out.*member)>;
          std::optional<T> read;
          if constexpr (std::is_same_v<T, sim::Rate>)
            read = trace::data_rate_of(problems, *v, p.key, true);
          else if constexpr (std::is_same_v<T, sim::Time>)
            read = trace::time_of(problems, *v, p.key, true);
          else if constexpr (std::is_same_v<T, sim::Bytes>)
            read = trace::size_of(problems, *v, p.key, true);
          else if constexpr (std::is_same_v<T, double>)
            read = trace::number_of(problems, *v, p.key, 0, 1e9);
          else if constexpr (std::is_same_v<T, bool>)
            read = f.boolean(p.key);
          else if (const auto n = trace::integer_of(problems, *v, p.key, 0, most))
            read = static_cast<T>(*n);
          if (read) out.*member = *read;
        },
        p.member);
  }
}

std::optional<std::size_t> choice(Fields& f, std::string_view key, const std::vector<std::string>& words) {
  const auto word = f.word(key);
  if (!word) return std::nullopt;
  const auto found = std::ranges::find(words, *word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  f.problems().add(*f.find(key), fmt::format("'{}' is no {}", *word, key), trace::suggest(*word, words));
  return std::nullopt;
}

void read_dcqcn(Fields& f, sim::Rate line, Settings& s) {
  static const std::vector<std::string> presets{"mlx5", "paper2015", "hpcc_repo"}, readings{"old_weight", "new_weight"};
  if (const auto i = choice(f, "preset", presets))
    s = *i == 0 ? Settings::mlx5() : *i == 1 ? Settings::paper2015() : Settings::hpcc_repo(line);
  read_parameters(f, s, dcqcn_parameters);
  if (const auto i = choice(f, "dce_tcp_g_reading", readings))
    s.dce_tcp_g_reading = static_cast<packet::dcqcn::GainReading>(*i);
}

void read_table(Fields& f, Cct& s) {
  const auto* v = f.find("table");
  if (v == nullptr) return;
  if (!v->is_sequence() || v->items.empty()) {
    f.problems().add(*v, "'table' must be a list of numbers", "delays after a packet, in times of its own: [0, 1, 2]");
    return;
  }
  s.table.clear();
  for (const auto& item : v->items)
    if (const auto x = trace::number_of(f.problems(), item, "table", 0, 1e9)) s.table.push_back(*x);
  if (f.find("ccti_limit") == nullptr) s.ccti_limit = std::min(s.ccti_limit, static_cast<int>(v->items.size()) - 1);
}

/// The defaults of the algorithm, or `now` where it is that one.
template <typename S>
S& made(packet::ControlSettings& now) {
  if (!std::holds_alternative<S>(now)) now = S{};
  return std::get<S>(now);
}

void read_algorithm(Fields& f, std::string_view name, sim::Rate line, packet::ControlSettings& out) {
  if (name == "dcqcn") {
    read_dcqcn(f, line, made<Settings>(out));
  } else if (name == "infiniband_cct") {
    read_table(f, made<Cct>(out));
    read_parameters(f, std::get<Cct>(out), cct_parameters);
  } else if (name == "dctcp") {
    read_parameters(f, made<Dctcp>(out), dctcp_parameters);
  } else if (name == "timely") {
    read_parameters(f, made<Timely>(out), timely_parameters);
  } else if (name == "swift") {
    read_parameters(f, made<Swift>(out), swift_parameters);
  } else if (name == "hpcc") {
    read_parameters(f, made<Hpcc>(out), hpcc_parameters);
  } else if (name == "nscc") {
    read_parameters(f, made<Nscc>(out), nscc_parameters);
  } else {
    read_parameters(f, made<None>(out), none_parameters);
  }
}

}  // namespace

void read_packet_control(Problems& problems, const Value& value, sim::Rate line, packet::ControlSettings& control) {
  static const std::vector<std::string> names{"none",   "dcqcn", "infiniband_cct", "dctcp",
                                              "timely", "swift", "hpcc",           "nscc"};
  const auto known = [&](const Value& at) {
    if (std::ranges::find(names, at.text) != names.end()) return true;
    problems.add(at, fmt::format("'{}' is no congestion control", at.text), trace::suggest(at.text, names));
    return false;
  };
  static const Value nothing = [] {
    Value v;
    v.kind = Value::Kind::map;
    return v;
  }();
  const auto before = problems.count();
  if (value.is_scalar()) {
    if (!known(value)) return;
    Fields f{problems, nothing, "'control'"};
    read_algorithm(f, value.text, line, control);
    return;
  }
  Fields f{problems, value, "'control'"};
  if (!f.sound()) return;
  const auto algorithm = f.word("algorithm");
  if (algorithm && !known(*value.get("algorithm"))) return;
  read_algorithm(f, algorithm ? std::string_view{*algorithm} : models::name_of(control), line, control);
  f.done();
  if (problems.count() != before) return;
  for (const auto& text : packet::problems(control)) problems.add(value, text);
}

}  // namespace linkcast::workloads
