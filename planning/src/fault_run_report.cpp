// A run with faults at their times, as text and JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "linkcast/planning/fault_run.hpp"
#include "quantities.hpp"

namespace linkcast::planning {
namespace {

double seconds(sim::Time t) { return static_cast<double>(t.ps()) * 1e-12; }
double share(sim::Time part, sim::Time whole) {
  return whole == sim::Time{} ? 0 : static_cast<double>(part.ps()) / static_cast<double>(whole.ps());
}

}  // namespace

std::string to_text(const FaultRun& run, const std::string& title) {
  std::string out = title + "\n";
  out += fmt::format("{:.6g} steps in {} of {:.6g} s each without faults: {:.2f} % of the speed without faults\n",
                     run.steps, span_text(run.duration), seconds(run.sound_step), run.effective() * 100);
  if (!run.finished) out += "the run never ends: the job cannot go on, and nothing is repaired\n";
  if (!run.lost.empty()) out += "\nlost to\n";
  for (const auto& [cause, t] : run.lost)
    out += fmt::format("  {:<24}{:>12.3f} s {:>8.2f} %\n", cause, seconds(t), share(t, run.duration) * 100);
  out += fmt::format("\n{:>12}  {:>12}  {:>10}  {}\n", "from (s)", "to (s)", "step (s)", "what");
  for (const auto& s : run.spans)
    out += fmt::format("{:>12.3f}  {:>12.3f}  {:>10}  {}\n", seconds(s.from), seconds(s.to),
                       s.step == sim::Time{} ? "-" : fmt::format("{:.6g}", seconds(s.step)), s.what);
  out += goals_text(run.goals);
  for (const auto& a : run.assumptions) out += fmt::format("note: {}\n", a);
  return out;
}

std::string to_json(const FaultRun& run, const std::string& title) {
  using Json = nlohmann::ordered_json;
  Json j;
  j["schema"] = "linkcast.fault-run/1";
  j["title"] = title;
  j["duration_s"] = seconds(run.duration);
  j["steps"] = run.steps;
  j["step_us_without_faults"] = static_cast<double>(run.sound_step.ps()) / 1e6;
  j["effective_speed"] = run.effective();
  j["finished"] = run.finished;
  j["lost_s"] = Json::object();
  for (const auto& [cause, t] : run.lost) j["lost_s"][cause] = seconds(t);
  j["spans"] = Json::array();
  for (const auto& s : run.spans)
    j["spans"].push_back(
        {{"from_s", seconds(s.from)},
         {"to_s", seconds(s.to)},
         {"what", s.what},
         {"step_us", s.step == sim::Time{} ? Json(nullptr) : Json(static_cast<double>(s.step.ps()) / 1e6)}});
  if (!run.goals.empty()) j["goals"] = Json::parse(goals_json(run.goals));
  j["assumptions"] = run.assumptions;
  return j.dump(2) + "\n";
}

}  // namespace linkcast::planning
