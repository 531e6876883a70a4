// See tuner_search.hpp.
#include "linkcast/workloads/tuner_search.hpp"

#include <algorithm>
#include <cmath>

namespace linkcast::workloads {
namespace {

using models::nccl::Algorithm;
using models::nccl::Call;
using models::nccl::Op;
using models::nccl::Selection;
using sim::Time;

constexpr double worth = 0.01;  // less is not worth a rule of its own

bool same(const Selection& a, const Selection& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol && a.channels == b.channels;
}

/// What the plugin's file can say.
bool expressible(Algorithm a) { return a <= Algorithm::pat; }

std::vector<int> channel_counts(int all, int own) {
  std::vector<int> counts{own};
  for (int n = 1; n < all; n *= 2) counts.push_back(n);
  if (all >= 16) counts.push_back(all / 4 * 3);
  counts.push_back(all);
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

struct Try {
  Selection selection;
  Time time;
};

}  // namespace

std::vector<TunedSize> tune(const CollectiveModel& model, Op op, const std::vector<sim::Bytes>& sizes,
                            const std::function<bool()>& stop) {
  const auto& comm = model.communicator();
  std::vector<TunedSize> found;
  std::optional<Selection> before;
  for (const auto size : sizes) {
    if (stop && stop()) break;
    Call call;
    call.op = op;
    call.bytes = size;
    const auto own = comm.plan(call);
    if (!expressible(own.choice.algorithm)) continue;
    TunedSize t;
    t.size = size;
    t.nccl = {own.choice.algorithm, own.choice.protocol, own.channels};
    t.nccl_time = model.run(call).time;
    std::vector<Try> tries;
    const auto run = [&](const Selection& s) {
      call.selection = s;
      tries.push_back({s, model.run(call).time});
    };
    for (const auto& c : comm.candidates(call)) {
      call.selection.reset();
      if (!expressible(c.algorithm)) continue;
      const bool on_switch = c.algorithm == Algorithm::nvls || c.algorithm == Algorithm::nvls_tree;
      const int all = std::max(1, on_switch ? comm.channels().nvls : comm.channels().comm);
      call.selection = Selection{c.algorithm, c.protocol, -1};
      const int by_nccl = comm.plan(call).channels;
      for (const int n : channel_counts(all, std::min(all, by_nccl))) run({c.algorithm, c.protocol, n});
    }
    // Of equals the one with fewer channels: they leave SMs to others.
    const auto best = std::min_element(tries.begin(), tries.end(), [](const Try& a, const Try& b) {
      return a.time != b.time ? a.time < b.time : a.selection.channels < b.selection.channels;
    });
    Try taken = best == tries.end() ? Try{t.nccl, t.nccl_time} : *best;
    const auto enough = [&](Time time) { return time.us() <= taken.time.us() * (1 + worth); };
    const auto tried = [&](const Selection& s) {
      return std::find_if(tries.begin(), tries.end(), [&](const Try& x) { return same(x.selection, s); });
    };
    if (enough(t.nccl_time)) taken = {t.nccl, t.nccl_time};
    if (before) {
      const auto again = tried(*before);
      if (again != tries.end() && enough(again->time) && again->time <= t.nccl_time) taken = *again;
    }
    t.best = taken.selection;
    t.best_time = taken.time;
    before = t.best;
    found.push_back(t);
  }
  return found;
}

std::vector<models::nccl::TunerRule> tuner_rules(Op op, const std::vector<TunedSize>& tuned, int nodes, int ranks) {
  std::vector<models::nccl::TunerRule> rules;
  for (std::size_t i = 0; i < tuned.size(); ++i) {
    if (i > 0 && same(tuned[i].best, tuned[i - 1].best)) continue;
    models::nccl::TunerRule r;
    r.op = op;
    if (i > 0) {
      r.min_bytes = static_cast<std::int64_t>(
          std::sqrt(static_cast<double>(tuned[i - 1].size.count()) * static_cast<double>(tuned[i].size.count())));
      rules.back().max_bytes = r.min_bytes - 1;
    }
    r.algorithm = tuned[i].best.algorithm;
    r.protocol = tuned[i].best.protocol;
    r.channels = tuned[i].best.channels;
    r.nodes = nodes;
    r.ranks = ranks;
    rules.push_back(r);
  }
  return rules;
}

}  // namespace linkcast::workloads
