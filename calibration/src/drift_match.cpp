// See drift_match.hpp: which measurements of the two sides are the same thing. Their values: drift_match_values.cpp.
#include "drift_match.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <type_traits>

#include "drift_facets.hpp"
#include "drift_match_values.hpp"

namespace linkcast::calibration {
namespace {

std::string count_of(int n, std::string_view what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

/// Variables that change what is printed, not what is done.
bool only_prints(const std::string& name) {
  return name.starts_with("NCCL_DEBUG") || name.ends_with("_DUMP_FILE") || name.ends_with("_DUMP_FILE_RANK");
}

std::string env_text(const std::map<std::string, std::string>& env) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : env)
    if (!only_prints(name)) parts.push_back(name + "=" + value);
  return fmt::format("{}", fmt::join(parts, " "));
}

Facets facets_of(const Series& s) {
  return {{"collective", std::string(models::nccl::name_of(s.op))},
          {"ranks", std::to_string(s.ranks)},
          {"nodes", std::to_string(s.nodes)},
          {"system", s.system.value_or("")},
          {"type", s.dtype},
          {"operation", s.redop == "none" ? "sum" : s.redop},
          {"placement", s.in_place ? "in place" : ""},
          {"variables", env_text(s.env)}};
}

Facets facets_of(const PairMatrix& m) {
  std::string what = m.to_host ? "GPU to host" : m.from_host ? "host to GPU" : "GPU to GPU";
  what += m.latency ? " latency" : " bandwidth";
  return {{"matrix", std::move(what)},
          {"GPUs", std::to_string(m.cells.empty() ? 0 : m.cells.front().size())},
          {"system", m.system.value_or("")},
          {"direction", m.bidirectional ? "both directions" : ""},
          {"peer access", !m.peer_access   ? ""
                          : *m.peer_access ? "peer access on"
                                           : "peer access off"},
          {"operation", m.read ? "read" : ""},
          {"engine", m.engine == Engine::sm            ? "SM"
                     : m.engine == Engine::copy_engine ? "copy engine"
                                                       : ""},
          {"size", m.size.count() == 0 ? "" : fmt::format("{} B", m.size.count())}};
}

Facets facets_of(const PairTest& t) {
  return {{"test", t.tool.empty() ? (t.latency ? "latency" : "bandwidth") : t.tool},
          {"unit", t.latency ? "us" : "GB/s"},
          {"system", t.system.value_or("")},
          {"memory", t.memory == MemoryKind::gpu    ? "GPU memory"
                     : t.memory == MemoryKind::host ? "host memory"
                                                    : ""},
          {"direction", t.bidirectional ? "both directions" : ""},
          {"queue pairs", t.qps == 0 ? "" : count_of(t.qps, "queue pair")},
          {"NICs", t.nics == 1 ? "" : count_of(t.nics, "NIC")},
          {"fabric", t.fabric}};
}

Facets facets_of(const Figure& f) {
  static constexpr const char* kNames[] = {
      "busbw", "algbw", "bandwidth", "average busbw", "P2P", "P2P bidirectional", "host copy"};
  return {{"figure", kNames[static_cast<std::size_t>(f.metric)]},
          {"collective", f.op ? std::string(models::nccl::name_of(*f.op)) : ""},
          {"size", f.size ? fmt::format("{} B", f.size->count()) : ""},
          {"ranks", f.ranks ? fmt::format("{} ranks", *f.ranks) : ""},
          {"variables", env_text(f.env)}};
}

/// What people read: without what is usual. Different facets give different texts.
std::string text_of(const Facets& facets) {
  std::string out;
  for (const auto& [name, value] : facets) {
    if (value.empty() || name == "unit") continue;
    if ((name == "type" && value == "float") || (name == "operation" && value == "sum")) continue;
    if (name == "nodes" && value == "1") continue;
    if (!out.empty()) out += ", ";
    out += value;
    if (name == "ranks" && value.find(' ') == std::string::npos) out += value == "1" ? " rank" : " ranks";
    if (name == "nodes") out += " nodes";
    if (name == "GPUs") out += value == "1" ? " GPU" : " GPUs";
  }
  return out;
}

std::string text_of(const Pairing& p) {
  return p.file.empty() ? text_of(p.facets) : fmt::format("{} ({})", text_of(p.facets), p.file);
}

/// A machine that one side does not name does not keep measurements apart.
void forget_system_where_unnamed(std::vector<Labelled>& a, std::vector<Labelled>& b) {
  bool unnamed = false;
  std::set<std::string> names;
  for (const auto* side : {&a, &b})
    for (const auto& l : *side)
      for (const auto& [name, value] : l.facets)
        if (name == "system") unnamed = unnamed || value.empty(), names.insert(value);
  if (!unnamed && names.size() > 1) return;
  for (auto* side : {&a, &b})
    for (auto& l : *side)
      for (auto& [name, value] : l.facets)
        if (name == "system") value.clear();
}

template <class Thing>
std::vector<Labelled> labelled(const std::vector<const Thing*>& things) {
  std::vector<Labelled> out;
  for (std::size_t i = 0; i < things.size(); ++i) {
    std::string file;
    // A test's file is no machine: its hosts are.
    if constexpr (std::is_same_v<Thing, Series> || std::is_same_v<Thing, PairMatrix>) file = file_of(things[i]->id);
    out.push_back({facets_of(*things[i]), std::move(file), i});
  }
  return out;
}

template <class Thing>
std::vector<const Thing*> chosen(const std::vector<const Thing*>& things, const std::vector<std::size_t>& indices) {
  std::vector<const Thing*> out;
  for (const auto i : indices) out.push_back(things[i]);
  return out;
}

/// `take(text, baseline, now)` for each thing that is on both sides.
template <class Thing, class Take>
void each_pair(const std::vector<const Thing*>& baseline, const std::vector<const Thing*>& now, Matched& out,
               Take take) {
  auto before = labelled(baseline), after = labelled(now);
  forget_system_where_unnamed(before, after);
  auto pairings = pair_up(before, after);
  for (const auto& p : pairings.pairs) take(text_of(p), chosen(baseline, p.baseline), chosen(now, p.now));
  for (auto& [facets, reason] : pairings.alone) out.not_compared.push_back({text_of(facets), std::move(reason)});
}

template <class Thing>
std::vector<const Thing*> all_of(const Measurements& m, std::vector<Thing> Measurements::*whole,
                                 std::vector<Thing> Case::*of_case) {
  std::vector<const Thing*> out;
  for (const auto& thing : m.*whole) out.push_back(&thing);
  for (const auto& c : m.cases)
    for (const auto& thing : c.*of_case) out.push_back(&thing);
  return out;
}

std::vector<const Series*> comparable_series(const Measurements& m, const char* side, Matched& out) {
  std::vector<const Series*> series;
  for (const auto* s : all_of(m, &Measurements::series, &Case::series)) {
    if (s->cpu_time)
      out.not_compared.push_back({text_of(facets_of(*s)), fmt::format("host time (nccl-tests -C) in the {}", side)});
    else
      series.push_back(s);
  }
  return series;
}

/// Data that came out wrong is worse than any time. In the baseline it is only said.
void look_at_results(const Measurements& baseline, const Measurements& now, Matched& out) {
  const auto each = [](const Measurements& m, auto take) {
    std::set<std::string> said;
    for (const auto* s : all_of(m, &Measurements::series, &Case::series)) {
      const auto what = text_of(facets_of(*s));
      if (s->wrong_results && said.insert(what + s->id).second) take(what, file_of(s->id));
    }
  };
  each(now, [&](const std::string& what, const std::string& file) {
    out.faults.push_back(
        {what, fmt::format("wrong results: {}: the check of what the ranks received failed (#wrong)", file)});
  });
  each(baseline, [&](const std::string& what, const std::string& file) {
    out.notes.push_back(fmt::format("{}: the baseline {} has wrong results itself (#wrong)", what, file));
  });
}

}  // namespace

Matched match(const Measurements& baseline, const Measurements& now) {
  Matched out;
  look_at_results(baseline, now, out);
  each_pair<Series>(comparable_series(baseline, "baseline", out), comparable_series(now, "new measurements", out), out,
                    [&](const std::string& what, const auto& b, const auto& n) { add_series(what, b, n, out); });
  each_pair<PairMatrix>(all_of(baseline, &Measurements::matrices, &Case::matrices),
                        all_of(now, &Measurements::matrices, &Case::matrices), out,
                        [&](const std::string& what, const auto& b, const auto& n) { add_matrix(what, b, n, out); });
  each_pair<PairTest>(all_of(baseline, &Measurements::tests, &Case::tests),
                      all_of(now, &Measurements::tests, &Case::tests), out,
                      [&](const std::string& what, const auto& b, const auto& n) { add_tests(what, b, n, out); });
  each_pair<Figure>(all_of(baseline, &Measurements::figures, &Case::figures),
                    all_of(now, &Measurements::figures, &Case::figures), out,
                    [&](const std::string& what, const auto& b, const auto& n) { add_figures(what, b, n, out); });
  add_probes(baseline.probes, now.probes, out);
  return out;
}

}  // namespace linkcast::calibration
