// Single figures as observations: which call they speak of, at which size, and how they may have been meant.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "../text_scan.hpp"
#include "observe.hpp"
#include "pair_rates.hpp"

namespace linkcast::calibration::diagnosis {
namespace {

using models::nccl::Op;
using Metric = Figure::Metric;

constexpr double ninety = 1.645;

/// "4M-1024M", "1K to 8G": powers of two from the one to the other.
std::vector<sim::Bytes> sweep_in_words(const std::string& text) {
  static const std::regex range{R"((\d+)\s*([kmg]?)i?b?\s*(?:-|to)\s*(\d+)\s*([kmg])i?b?)"};
  std::smatch m;
  if (text.size() > 1000 || !std::regex_search(text, m, range)) return {};
  const auto bytes = [](const std::string& n, const std::string& unit) {
    const int shift = unit == "k" ? 10 : unit == "m" ? 20 : unit == "g" ? 30 : 0;
    return n.size() > 6 ? std::int64_t{0} : std::stoll(n) << shift;
  };
  std::vector<sim::Bytes> out;
  const auto first = bytes(m[1], m[2]), last = bytes(m[3], m[4]);
  for (auto s = first; s > 0 && s <= last && out.size() < 40; s *= 2) out.push_back(sim::Bytes{s});
  return out;
}

/// "EP16" -> 16: over how many GPUs the experts are spread; 0: not said.
int expert_ranks(const std::string& words) {
  static const std::regex ep{R"((^|[^0-9a-z])ep[ =-]?(\d{1,5})(?!\d))"};
  std::smatch m;
  const auto text = words.substr(0, 1000);
  return std::regex_search(text, m, ep) ? std::stoi(m[2]) : 0;
}

bool of_experts(const Figure& f, const std::string& words) {
  return !f.op && says_any(words, {"dispatch", "combine", "deepep", "expert"});
}

/// How many nodes and GPUs of each: what the figure says, else the whole machine.
void place(const Figure& f, const std::string& words, Probe& probe) {
  static const std::regex one_node{R"((^|[^0-9a-z.])(single|one|1)[ -]node(?!\w))"};
  if (std::regex_search(words.substr(0, 1000), one_node)) {
    probe.nodes = 1;
    if (f.ranks && *f.ranks <= probe.gpus) probe.gpus = *f.ranks;
    return;
  }
  if (!f.ranks) return;
  const int ranks = *f.ranks;
  if (ranks <= probe.gpus && !(probe.nodes > 1 && ranks % probe.nodes == 0 && says_any(words, {"nodes"}))) {
    probe.nodes = 1, probe.gpus = ranks;
  } else if (ranks % probe.gpus == 0) {
    probe.nodes = ranks / probe.gpus;
  } else if (ranks % probe.nodes == 0) {
    probe.gpus = ranks / probe.nodes;
  }
}

class Figures {
 public:
  Figures(const Predictor& predictor, const DiagnoseOptions& options, Evidence& evidence)
      : predictor_{predictor}, machine_{predictor.machine()}, options_{options}, evidence_{evidence} {}

  void add(const Figure& f) {
    const auto words = lower(f.what);
    if (of_experts(f, words)) return experts(f, words);
    if (f.metric == Metric::p2p || f.metric == Metric::p2p_bidirectional || f.metric == Metric::host_copy)
      return pair(f, f.metric == Metric::p2p_bidirectional, f.metric == Metric::host_copy, false);
    if (says_any(words, {"per link", "per nvlink", "each link"})) return pair(f, false, false, true);
    if (f.metric == Metric::unknown && !f.op) return nearest_meaning(f);
    collective(f, words);
  }

 private:
  void row(const Observation& o, double us_factor) {
    DiagnosisRow r;
    r.what = o.what;
    r.size = o.size_open ? std::nullopt : o.size;
    r.measured_GBps = o.measured * o.shown;
    if (o.base > 0) {
      const double spread = std::exp(ninety * std::hypot(o.bias, o.scatter));
      r.expected = true;
      r.expected_GBps = o.base * o.shown;
      r.low_GBps = r.expected_GBps / spread, r.high_GBps = r.expected_GBps * spread;
    }
    if (r.size && us_factor > 0) {
      const auto us = [&](double GBps) { return static_cast<double>(r.size->count()) / (GBps / o.shown) * 1e-3; };
      r.measured_us = us(r.measured_GBps);
      if (r.expected) r.expected_us = us(r.expected_GBps), r.low_us = us(r.high_GBps), r.high_us = us(r.low_GBps);
    }
    evidence_.rows.push_back(std::move(r));
  }

  void collective(const Figure& f, const std::string& words) {
    auto probe = healthy_probe(machine_, options_, f.env, evidence_);
    probe.op = f.op.value_or(Op::all_reduce);
    place(f, words, probe);
    const bool net = probe.nodes > 1;
    probe.launch = net ? models::LaunchMode::multi_process : models::LaunchMode::single_process;
    Observation o;
    o.average = f.metric == Metric::average_busbw && !f.size;
    const auto sweep = o.average ? sweep_in_words(words) : std::vector<sim::Bytes>{};
    o.size_open = !f.size;
    o.size = f.size.value_or(sim::gib(4));
    if (sweep.empty())
      probe.sizes = {*o.size};
    else
      probe.sizes = sweep;
    const double factor = workloads::busbw_factor(probe.op, probe.ranks());
    const bool algbw = f.metric == Metric::algbw;
    o.measured = algbw ? f.GBps : f.GBps / factor;
    o.shown = algbw ? 1 : factor;
    o.reading = f.metric == Metric::unknown ? Reading::open : Reading::as_said;
    o.what =
        fmt::format("{}{} {}, {} GPUs", o.size_open ? "" : size_words(*o.size) + " ", models::nccl::name_of(probe.op),
                    algbw       ? "algbw"
                    : o.average ? "average busbw"
                                : "busbw",
                    probe.ranks());
    o.several_nodes = net;
    const bool predictable = machine_.gpu_known || (net && machine_.nic_gbps > 0);
    auto base =
        predictable && !(o.average && sweep.empty()) ? predictor_.collective(probe, {}, {}) : std::vector<Prediction>{};
    if (base.empty()) {
      if (o.average && sweep.empty())
        evidence_.notes.push_back(
            "an average over sizes that are not named says little: small sizes pull it far "
            "below the peak");
      else if (predictable)
        evidence_.notes.push_back(fmt::format("{}: no expectation: {}", o.what, predictor_.problem(probe)));
      return row(o, 0);
    }
    double sum = 0;
    for (const auto& p : base) sum += p.GBps;
    o.base = sum / static_cast<double>(base.size());
    o.algorithm = base.back().algorithm, o.bound_by = base.back().bound_by;
    const auto w = interval_of(machine_, probe.op, net, *o.size);
    o.bias = std::hypot(w.bias, o.size_open ? 0.03 : 0.0) + (o.average ? 0.12 : 0);
    o.scatter = o.average ? 0.15 : 0.02;
    o.group = fmt::format("{} {} x {}", models::nccl::name_of(probe.op), probe.nodes, probe.gpus);
    o.probe = static_cast<int>(evidence_.probes.size());
    row(o, o.average ? 0 : 1);
    evidence_.probes.push_back(std::move(probe));
    evidence_.seen.push_back(std::move(o));
  }

  void pair(const Figure& f, bool bidirectional, bool host, bool link) {
    Observation o;
    o.kind = Kind::pair;
    o.what = link ? "one NVLink" : host ? "host copy" : bidirectional ? "GPU to GPU, both ways" : "GPU to GPU, one way";
    o.measured = f.GBps;
    o.bidirectional = bidirectional;
    o.to_host = host;
    o.group = "pairs";
    o.bias = 0.10;
    if (machine_.gpu_known) {
      const PairRates rates{cluster_of(machine_, 1, machine_.gpus, {}).machine(0)};
      o.over_nvlink = !host && rates.nvlink();
      o.base = link ? rates.one_nvlink() : host ? rates.host() : rates.best_pair(bidirectional);
    }
    row(o, 0);
    if (o.base > 0) evidence_.seen.push_back(std::move(o));
  }

  /// A number without a word: the reading that is nearest to what the machine gives.
  void nearest_meaning(const Figure& f) {
    if (!machine_.gpu_known) return collective(f, "");
    const PairRates rates{cluster_of(machine_, 1, machine_.gpus, {}).machine(0)};
    const auto off = [&](double base) { return base > 0 ? std::abs(std::log(f.GBps / base)) : 1e9; };
    const double link = off(rates.one_nvlink()), one = off(rates.best_pair(false)), both = off(rates.best_pair(true));
    const double least = std::min({link, one, both});
    if (machine_.nodes > 1 || least > 0.25) return collective(f, "");
    pair(f, both == least, false, link == least);
  }

  /// Expert parallelism (DeepEP): what a GPU sends to other nodes goes over its share of the NICs, and what it sends to
  /// its own node over NVLink; the slower of the two holds back both. The published figures count bytes as an algorithm
  /// does, so that they pass the line rate where part of the traffic stays at home (docs of DeepEP: H800 with 400 Gb/s:
  /// 43 GB/s on 16 GPUs, 58 on 32, 51 on 64; 153 to 158 within a node of 160).
  void experts(const Figure& f, const std::string& words) {
    Observation o;
    o.kind = Kind::expert;
    o.measured = f.GBps;
    const int ranks = expert_ranks(words);
    const bool inside =
        machine_.nodes <= 1 || says_any(words, {"nvl figure", "intranode"}) || (ranks > 0 && ranks <= machine_.gpus);
    o.what = inside ? "expert dispatch/combine, NVLink" : "expert dispatch/combine, RDMA";
    o.several_nodes = !inside;
    o.group = "experts";
    o.bias = 0.16;
    if (inside && machine_.gpu_known) {
      const PairRates rates{cluster_of(machine_, 1, machine_.gpus, {}).machine(0)};
      o.base = 0.85 * rates.best_pair(false);
    } else if (!inside && machine_.nic_gbps > 0 && machine_.nics > 0) {
      const double nic = machine_.nic_gbps / 8 * machine_.nics / machine_.gpus;
      o.base = 0.92 * nic;
    }
    row(o, 0);
    if (o.base > 0) evidence_.seen.push_back(std::move(o));
  }

  const Predictor& predictor_;
  const Machine& machine_;
  const DiagnoseOptions& options_;
  Evidence& evidence_;
};

}  // namespace

void observe_figures(const std::vector<Figure>& figures, const Predictor& predictor, const DiagnoseOptions& options,
                     Evidence& evidence) {
  Figures all{predictor, options, evidence};
  for (const auto& f : figures) all.add(f);
}

}  // namespace linkcast::calibration::diagnosis
