// A diagnosis as text for people and as JSON for programs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "diagnose/observe.hpp"
#include "linkcast/calibration/diagnose.hpp"

namespace linkcast::calibration {
namespace {

constexpr std::size_t most_rows = 40;

std::string verdict_words(const Diagnosis& d) {
  switch (d.verdict) {
    case Verdict::healthy:
      return fmt::format("HEALTHY ({:.0f} % sure): these numbers are normal", 100 * d.confidence);
    case Verdict::degraded:
      return fmt::format("DEGRADED ({:.0f} % sure): a healthy machine gives more", 100 * d.confidence);
    default:
      if (std::any_of(d.rows.begin(), d.rows.end(), [](const DiagnosisRow& r) { return r.expected; }))
        return d.causes.empty() ? "CANNOT SAY: these numbers contradict each other, or what is possible (see the notes)"
                                : "CANNOT SAY: how numbers compare with each other is normal, their size is not known";
      return "CANNOT SAY: nothing of this can be compared with what the machine should give";
  }
}

std::string number(double v) { return v >= 100 ? fmt::format("{:.0f}", v) : fmt::format("{:.3g}", v); }

}  // namespace

std::string text_report(const Diagnosis& d) {
  std::string out = verdict_words(d) + "\n\n";
  out += fmt::format("machine: {}\n\n", d.machine.empty() ? "not known" : d.machine);
  out += fmt::format("{:<44} {:>12} {:>10} {:>10} {:>17}\n", "what", "size", "measured", "expected", "normal range");
  const auto step = std::max<std::size_t>(1, (d.rows.size() + most_rows - 1) / most_rows);
  for (std::size_t i = 0; i < d.rows.size(); i += step) {
    const auto& r = d.rows[i];
    const auto range = r.expected ? fmt::format("{} - {}", number(r.low_GBps), number(r.high_GBps)) : "";
    const bool low = r.expected && r.measured_GBps < r.low_GBps;
    out += fmt::format("{:<44} {:>12} {:>10} {:>10} {:>17} {}\n", r.what.substr(0, 44),
                       r.size ? diagnosis::size_words(*r.size) : "", number(r.measured_GBps),
                       r.expected ? number(r.expected_GBps) : "-", range, low ? "low" : "");
  }
  out += "(GB/s)\n";
  if (!d.causes.empty())
    out += d.verdict == Verdict::degraded ? "\nprobable causes\n" : "\nwhy this is so, and what else it could be\n";
  int rank = 0;
  for (const auto& c : d.causes) {
    out += fmt::format("{:>2}. {} ({:.0f} %)\n    {}\n", ++rank, c.cause, 100 * c.score, c.explains);
    if (!c.alike.empty()) out += fmt::format("    not told apart from: {}\n", fmt::join(c.alike, "; "));
    if (!c.confirm.empty()) out += fmt::format("    to confirm: {}\n", c.confirm);
  }
  if (!d.notes.empty()) out += "\nnotes\n";
  for (const auto& n : d.notes) out += fmt::format("  {}\n", n);
  return out;
}

std::string json_report(const Diagnosis& d) {
  using json = nlohmann::ordered_json;
  const auto value = [](double v) { return v > 0 ? json(v) : json(nullptr); };
  json out = {{"schema", "linkcast.diagnose/1"},
              {"verdict", name_of(d.verdict)},
              {"confidence", d.confidence},
              {"machine", d.machine},
              {"causes", json::array()},
              {"rows", json::array()},
              {"notes", d.notes}};
  for (const auto& c : d.causes)
    out["causes"].push_back(
        {{"cause", c.cause}, {"score", c.score}, {"explains", c.explains}, {"confirm", c.confirm}, {"alike", c.alike}});
  for (const auto& r : d.rows) {
    out["rows"].push_back({{"what", r.what},
                           {"size_bytes", r.size ? json(r.size->count()) : json(nullptr)},
                           {"measured_us", value(r.measured_us)},
                           {"expected_us", value(r.expected_us)},
                           {"low_us", value(r.low_us)},
                           {"high_us", value(r.high_us)},
                           {"measured_GBps", value(r.measured_GBps)},
                           {"expected_GBps", value(r.expected_GBps)},
                           {"low_GBps", value(r.low_GBps)},
                           {"high_GBps", value(r.high_GBps)}});
  }
  return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace linkcast::calibration
