// Which algorithm and protocol a call takes: NCCL's cost table, what datatype and machine rule out, and the words
// that explain it. Source: topoGetAlgoInfo and updateCollCostTable of enqueue.cc. Knows no chunk.
#include <algorithm>
#include <cstdio>

#include "linkcast/models/nccl/tuner.hpp"
#include "nccl/communicator_impl.hpp"
#include "nccl/region_tuner.hpp"

namespace linkcast::models::nccl {

namespace {
std::string spelled(const Choice& c) {
  return std::string{name_of(c.algorithm)} + "/" + std::string{name_of(c.protocol)};
}

std::string microseconds(double us) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f us", us);
  return text;
}
}  // namespace

std::vector<Choice> Communicator::Impl::candidates(const Call& call) const {
  const Datatype type = datatype(call.dtype);
  if (call.bytes.count() < 0) throw sim::InputError{"a negative size", "sizes are 0 or more bytes"};
  if (const auto ce = copy_engine(call)) return {*ce};

  const int c = collective_index(call.op);
  if (c < 0) {
    Choice p2p;
    p2p.algorithm = Algorithm::p2p;
    const std::int64_t parts = call.op == Op::sendrecv ? 1 : std::max(1, ranks);
    p2p.protocol = p2p_plan(sim::Bytes{call.bytes.count() / parts}, config.nodes > 1).protocol;
    p2p.reason = "send and receive: no algorithm to choose";
    return {p2p};
  }
  if (ranks == 1) {
    Choice alone;
    alone.reason = "one rank: a copy";
    return {alone};
  }

  std::vector<Choice> found;
  constexpr auto nvls_index = static_cast<int>(Algorithm::nvls);
  for (int a = 0; a < algorithms; ++a) {
    const bool on_switch = a == nvls_index || a == static_cast<int>(Algorithm::nvls_tree);
    const bool on_collnet =
        a == static_cast<int>(Algorithm::collnet_direct) || a == static_cast<int>(Algorithm::collnet_chain);
    if (on_collnet && !collnet) continue;
    const bool limited_to_eight = a == static_cast<int>(Algorithm::collnet_direct) || since(28);
    if (on_collnet && locals > 8 && limited_to_eight) continue;
    if (on_switch) {
      const bool adds = cc_min >= 100 ? type.multimem_sum_blackwell : type.multimem_sum;
      if (!nvls_usable || (call.op != Op::all_gather && !adds)) continue;
      if (since(27) && call.op != Op::all_reduce && locals > 32) continue;
      if (a == nvls_index && config.nodes > 1 && !collnet) continue;
    }
    for (int p = 0; p < protocols; ++p) {
      auto time = static_cast<double>(model->time(c, a, p, call.bytes.count()));
      if (time < 0) continue;
      // Long rings lose too much precision in 8-bit floats.
      if (since(24) && type.fp8 && a == static_cast<int>(Algorithm::ring) && ranks > 8) time *= 1024;
      Choice choice;
      choice.algorithm = static_cast<Algorithm>(a);
      choice.protocol = static_cast<Protocol>(p);
      choice.model_time_us = time;
      found.push_back(choice);
    }
  }
  if (found.empty()) {
    std::string set;
    for (const char* name : {"NCCL_ALGO", "NCCL_PROTO"}) {
      if (const auto v = config.env.get(name)) set += std::string{set.empty() ? "" : " and "} + name + "=" + *v;
    }
    throw sim::InputError{
        "no algorithm and protocol are left for " + std::string{nccl_name_of(call.op)} + " of " + call.dtype,
        set.empty() ? "the topology gives none a bandwidth" : set + " rule out all that this machine has"};
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Choice& x, const Choice& y) { return x.model_time_us < y.model_time_us; });
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto& f = found[i];
    f.reason = spelled(f) + ": " + microseconds(f.model_time_us) + " in NCCL's model";
    if (i == 0 && found.size() > 1) {
      f.reason += ", next " + spelled(found[1]) + " " + microseconds(found[1].model_time_us);
    } else if (i == 0) {
      f.reason += ", the only candidate";
    } else {
      f.reason += ", " + microseconds(f.model_time_us - found[0].model_time_us) + " more than " + spelled(found[0]);
    }
  }
  // Buffers that NVLS can use in place save blocks: the efficiency policy takes it where it needs no more of them.
  const auto policy = config.env.get("NCCL_CTA_POLICY").value_or("0");
  const bool efficient = policy.find("EFFICIENCY") != std::string::npos || policy == "1" || policy == "3";
  if (efficient && since(27) && call.registered && (config.nodes == 1 || collnet) && topo->hosts() == 1 &&
      !config.env.get("NCCL_ALGO") && !config.env.get("NCCL_PROTO") &&
      (call.op == Op::all_gather || call.op == Op::reduce_scatter)) {
    const auto it =
        std::find_if(found.begin(), found.end(), [](const Choice& f) { return f.algorithm == Algorithm::nvls; });
    if (it != found.end()) {
      std::rotate(found.begin(), it, it + 1);
      found.front().reason = "NVLS/Simple: NCCL_CTA_POLICY=EFFICIENCY takes it for registered buffers";
    }
  }
  const auto take = [&](Algorithm algorithm, Protocol protocol, int channels, const std::string& why) {
    const auto it = std::find_if(found.begin(), found.end(),
                                 [&](const Choice& f) { return f.algorithm == algorithm && f.protocol == protocol; });
    if (it == found.end()) return false;
    std::rotate(found.begin(), it, it + 1);
    found.front().channels = channels;
    found.front().reason = spelled(found.front()) + why;
    return true;
  };
  if (const auto& s = call.selection) {
    if (!take(s->algorithm, s->protocol, s->channels, ": asked for")) {
      throw sim::InputError{std::string{name_of(s->algorithm)} + "/" + std::string{name_of(s->protocol)} +
                                " is not possible for " + std::string{nccl_name_of(call.op)} + " here",
                            "possible here is " + spelled(found.front())};
    }
    return found;
  }
  if (config.tuner) {
    // The example plugin's getCollInfo: the first rule that matches and is possible; none: one channel.
    const auto& rules = config.tuner->rules;
    const auto at = [&](const TunerRule& r) { return config.tuner->file + ":" + std::to_string(r.line); };
    std::string skipped;
    for (const auto i : config.tuner->matching(call.op, call.bytes.count(), config.nodes, ranks, call.registered)) {
      const auto& r = rules[i];
      const int channels = r.channels < 0 ? tuner_default_channels : r.channels;
      const auto why = ": the rule at " + at(r) + " takes it, on " +
                       (r.channels < 0 ? "1 channel (the plugin's answer to -1)"
                                       : std::to_string(channels) + (channels == 1 ? " channel" : " channels")) +
                       skipped;
      if (take(r.algorithm, r.protocol, channels, why)) return found;
      skipped += "; not possible here: " + at(r);
    }
    found.front().channels = tuner_default_channels;
    found.front().reason += "; no rule of " + config.tuner->file +
                            " applies, and for such calls the example plugin answers 1 channel" + skipped;
    return found;
  }
  // A plugin's tuner comes before NCCL's model; what is not possible here it skips.
  for (const auto& pick : region_tuner(tuner, call.op, call.bytes.count(), ranks, config.nodes)) {
    const auto it = std::find_if(found.begin(), found.end(), [&](const Choice& f) {
      return f.algorithm == pick.algorithm && f.protocol == pick.protocol;
    });
    if (it == found.end()) continue;
    std::rotate(found.begin(), it, it + 1);
    found.front().reason = spelled(found.front()) + ": the tuner of the network plugin on " + tuner + " takes it here";
    break;
  }
  if (const auto kernel = symmetric(call, nullptr)) found.insert(found.begin(), *kernel);
  return found;
}

}  // namespace linkcast::models::nccl
