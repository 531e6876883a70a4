// The scenario key `reliability`: its defaults with their sources, and its reader.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "linkcast/planning/goodput.hpp"
#include "linkcast/workloads/trace_fields.hpp"
#include "quantities.hpp"
#include "said.hpp"

namespace linkcast::planning {
namespace {

using workloads::trace::Fields;
using workloads::trace::Problems;
using workloads::trace::Value;

constexpr sim::Time seconds(std::int64_t n) { return sim::Time::picoseconds(n * 1'000'000'000'000); }

constexpr int most_trials = 100'000;
constexpr int most_spares = 100'000;

}  // namespace

Reliability::Reliability()
    : duration{seconds(std::int64_t{30} * 86'400)},
      // Writing to host memory stops training for "several seconds", the rest goes on beside it (MegaScale, NSDI 2024,
      // section 4.4).
      checkpoint_time{seconds(10)},
      // A failed node is found and replaced in under 5 minutes (Crusoe AutoClusters, vendor's figure). MegaScale's
      // average for detection with diagnostics is under 10 minutes.
      detection_time{seconds(300)},
      // No report says it alone. MegaScale catches up with the lost progress within 15 minutes of a failure, of which
      // under 10 are detection and diagnostics: 5 remain.
      restart_time{seconds(300)} {}

Reliability Reliability::read(const Value* v, Problems& problems) {
  Reliability r;
  const auto assume = [&](std::string_view key, std::string text) {
    r.assumed.push_back(fmt::format("{} {}", key, text));
  };
  static const Value nothing = [] {
    Value x;
    x.kind = Value::Kind::map;
    return x;
  }();
  Fields f{problems, v == nullptr || v->kind == Value::Kind::null ? nothing : *v, "'reliability'"};
  if (!f.sound()) return r;

  const auto time = [&](std::string_view key, bool zero, sim::Time& out, std::string_view source) {
    if (const auto* x = said(f.find(key))) {
      if (const auto t = span_of(problems, *x, key, zero)) out = *t;
    } else if (!source.empty()) {
      assume(key, fmt::format("{} ({})", span_text(out), source));
    }
  };
  time("duration", false, r.duration, "a month");
  if (const auto* x = said(f.find("checkpoint_interval")); x != nullptr && x->text != "best") {
    r.checkpoint_interval = span_of(problems, *x, "checkpoint_interval", false);
    if (r.checkpoint_interval && *r.checkpoint_interval < seconds(1)) {
      problems.add(*x, "'checkpoint_interval' must be a second or more", "write `best` for the best one");
    }
  } else if (x == nullptr) {
    assume("checkpoint_interval", "the best one for these failures (Daly 2006)");
  }
  time("checkpoint_time", true, r.checkpoint_time, "MegaScale, NSDI 2024: several seconds, the rest in the background");
  time("detection_time", true, r.detection_time, "Crusoe: found and replaced in under 5 minutes");
  time("restart_time", true, r.restart_time,
       "MegaScale, NSDI 2024: caught up in under 15 minutes, of which under 10 are detection");
  if (const auto* x = said(f.find("spares"))) {
    if (const auto n = workloads::trace::integer_of(problems, *x, "spares", 0, most_spares))
      r.spares = static_cast<int>(*n);
  } else {
    assume("spares", "as many as it takes: the job never waits for a node");
  }
  if (const auto* x = said(f.find("repair_time"))) r.repair_time = span_of(problems, *x, "repair_time", true);
  if (const auto* x = said(f.find("predicted"))) {
    if (const auto s = share_of(problems, *x, "predicted")) r.predicted = *s;
  }
  time("planned_every", false, r.planned_every, "");
  time("planned_time", true, r.planned_time, "");
  if (said(f.value(), "planned_time") != nullptr && said(f.value(), "planned_every") == nullptr) {
    problems.add(*f.value().get("planned_time"), "'planned_time' without 'planned_every'",
                 "write how often: planned_every: 7 days");
  }
  if (const auto* x = said(f.find("rates_at"))) {
    const auto known = {RateLevel::low, RateLevel::typical, RateLevel::high};
    const auto found =
        std::ranges::find_if(known, [&](RateLevel l) { return x->is_scalar() && x->text == name_of(l); });
    if (found == known.end()) {
      problems.add(*x, fmt::format("unknown rates_at '{}'", x->text), "it is low, typical or high");
    } else {
      r.rates = *found;
    }
  }
  const auto whole = [&](std::string_view key, std::int64_t low, std::int64_t high, auto& out) {
    const auto* x = said(f.find(key));
    if (x == nullptr) return;
    if (const auto n = workloads::trace::integer_of(problems, *x, key, low, high))
      out = static_cast<std::remove_reference_t<decltype(out)>>(*n);
  };
  whole("trials", 1, most_trials, r.trials);
  whole("seed", 0, std::numeric_limits<std::int64_t>::max(), r.seed);
  // Times of a trial are sums of these.
  const auto together = [&](std::string_view a, sim::Time first, std::string_view b, sim::Time second) {
    const auto* at = said(f.value(), b) != nullptr ? said(f.value(), b) : said(f.value(), a);
    if (at != nullptr && later(first, second) > longest_span)
      problems.add(*at, fmt::format("'{}' and '{}' are longer than {} together: {} and {}", a, b,
                                    span_text(longest_span), span_text(first), span_text(second)));
  };
  if (r.checkpoint_interval)
    together("checkpoint_interval", *r.checkpoint_interval, "checkpoint_time", r.checkpoint_time);
  together("detection_time", r.detection_time, "restart_time", r.restart_time);
  f.done();
  return r;
}

}  // namespace linkcast::planning
