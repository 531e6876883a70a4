// See report_option.hpp.
#include "report_option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "linkcast/topologies/svg.hpp"
#include "words.hpp"
#include "write_file.hpp"

namespace linkcast::cli {
namespace {

// As much as one page shows.
constexpr std::size_t most_inputs = 60, most_lanes = 8, most_spans = 400, most_ranks = 2;

void add_named_files(const workloads::ScenarioFile& s, const workloads::trace::Value& v,
                     std::vector<std::string>& out) {
  if (v.is_scalar() && !v.text.empty() && v.text.size() < 1000) {
    const auto path = workloads::beside(s.folder(), v.text);
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error) && std::ranges::find(out, path) == out.end()) out.push_back(path);
  }
  for (const auto& item : v.items) add_named_files(s, item, out);
  for (const auto& [key, value] : v.entries) add_named_files(s, value, out);
}

/// The excerpt ends where the first lane that was cut off ends, so that no lane looks idle that is not.
bool cut(std::vector<planning::ReportSpan>& spans) {
  std::ranges::stable_sort(spans, {}, &planning::ReportSpan::start_us);
  if (spans.size() <= most_spans) return false;
  const double end = spans[most_spans].start_us;
  spans.resize(most_spans);
  for (auto& s : spans) s.end_us = std::min(s.end_us, end);
  return true;
}

std::string note(const std::vector<planning::ReportSpan>& spans, bool is_cut, std::string_view what) {
  double end = 0;
  for (const auto& s : spans) end = std::max(end, s.end_us);
  return fmt::format("An excerpt: {}{}. --timeline writes all of it.", what,
                     is_cut ? fmt::format(", the first {:.4g} ms", end * 1e-3) : std::string{});
}

}  // namespace

void ReportOption::add_to(Form& form) {
  form.text("--report", path_, "FILE", "one HTML page for those who decide: verdict, goals, charts (docs/report.md)");
}

void ReportOption::check() const {
  if (wanted()) check_writable("--report", path_, Kind::page);
}

void ReportOption::write(std::string_view json, planning::ReportFacts facts, Io& io) const {
  if (!wanted()) return;
  facts.command = io.command;
  facts.version = fmt::format("linkcast {}", LINKCAST_VERSION);
  replace_file("--report", path_, planning::html_report(json, facts));
  io.log.note(fmt::format("report in {}{}", path_,
                          planning::report_has_charts() ? "" : ", without charts: it says how to get them"));
}

std::vector<planning::ReportInput> report_inputs(const std::vector<std::string>& files) {
  std::vector<planning::ReportInput> out;
  for (const auto& f : files) {
    if (out.size() == most_inputs) {
      out.push_back({fmt::format("and {} more", files.size() - most_inputs), "not listed"});
      break;
    }
    out.push_back({f, planning::file_hash(f)});
  }
  return out;
}

std::vector<planning::ReportInput> report_inputs(const workloads::ScenarioFile& scenario, const std::string& profile) {
  std::vector<std::string> files{scenario.path};
  if (!profile.empty()) files.push_back(profile);
  add_named_files(scenario, scenario.root, files);
  return report_inputs(files);
}

std::optional<std::uint64_t> report_seed(const workloads::ScenarioFile& scenario) {
  const auto* seed = scenario.root.is_map() ? scenario.root.get("seed") : nullptr;
  if (seed == nullptr || !seed->is_scalar()) return std::nullopt;
  std::uint64_t value = 0;
  const auto* end = seed->text.data() + seed->text.size();
  const auto [at, error] = std::from_chars(seed->text.data(), end, value);
  return error == std::errc{} && at == end ? std::optional{value} : std::nullopt;
}

void add_topology(planning::ReportFacts& facts, const topologies::Cluster& cluster,
                  const std::vector<sim::LinkUse>& links) {
  topologies::SvgOptions options;
  options.findings = false;
  for (const auto& l : links) options.utilisation.emplace(l.name, l.utilisation);
  facts.topology_svg = topologies::to_svg(cluster, options);
  for (const auto& a : cluster.assumptions()) facts.assumptions.emplace_back(a);
}

void add_timeline(planning::ReportFacts& facts, const sim::Timeline& timeline) {
  std::vector<std::int32_t> lanes;
  for (const auto& s : timeline.spans()) lanes.push_back(s.lane);
  std::ranges::sort(lanes);
  lanes.erase(std::unique(lanes.begin(), lanes.end()), lanes.end());
  const auto all = lanes.size();
  lanes.resize(std::min(lanes.size(), most_lanes));
  for (const auto lane : lanes)
    for (const auto& s : timeline.spans())
      if (s.lane == lane)
        facts.timeline.push_back(
            {timeline.lane_name(lane), s.label,
             s.kind == "compute" ? std::string{"compute"} : s.label.substr(0, s.label.find_first_of(" /")),
             s.started.us(), s.ended.us()});
  const bool is_cut = cut(facts.timeline);
  std::ranges::stable_sort(facts.timeline, {}, &planning::ReportSpan::lane);
  facts.timeline_note =
      note(facts.timeline, is_cut,
           all > lanes.size() ? fmt::format("the first {} of {} lanes", lanes.size(), all) : std::string{"all lanes"});
}

void ReportExcerpt::add(const workloads::ReplayedOperation& x) {
  if (std::ranges::find(ranks_, x.rank) == ranks_.end()) {
    if (ranks_.size() == most_ranks) return;
    ranks_.push_back(x.rank);
  }
  // They come as they end: somewhat more than are shown, so that none of the first is missed.
  if (spans_.size() >= 4 * most_spans || x.end <= x.start) return;
  spans_.push_back({fmt::format("rank {}, {}", x.rank, x.stream), std::string{x.name},
                    x.communicator == nullptr ? std::string{"compute"} : x.communicator->name, x.start.us(),
                    x.end.us()});
}

void ReportExcerpt::give_to(planning::ReportFacts& facts) const {
  facts.timeline = spans_;
  const bool is_cut = cut(facts.timeline);
  std::ranges::stable_sort(facts.timeline, {}, &planning::ReportSpan::lane);
  facts.timeline_note = note(facts.timeline, is_cut, ranks_.size() == 1 ? "one rank" : "the first ranks");
}

}  // namespace linkcast::cli
