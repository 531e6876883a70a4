// The answer as metrics: Prometheus' text exposition format 0.0.4, for node_exporter's textfile collector. It carries
// no time: the collector exports the file's own (node_textfile_mtime_seconds).
#include <fmt/format.h>

#include <cmath>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "drift_words.hpp"

namespace linkcast::calibration {
namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

/// In label values a backslash, a double quote and a line feed are escaped; all else is UTF-8 as it is.
std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '"')
      out += "\\\"";
    else if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

/// One metric: its HELP and TYPE lines, then its samples; no label set twice.
class Gauge {
 public:
  Gauge(std::string name, std::string_view help) : name_{std::move(name)} {
    text_ = fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name_, help, name_);
  }
  void sample(const Labels& labels, double value) {
    std::vector<std::string> parts;
    for (const auto& [key, text] : labels) parts.push_back(fmt::format("{}=\"{}\"", key, escaped(text)));
    auto head = parts.empty() ? name_ : fmt::format("{}{{{}}}", name_, fmt::join(parts, ","));
    if (known_.insert(head).second) text_ += fmt::format("{} {:.6g}\n", head, value);
  }
  const std::string& str() const { return text_; }

 private:
  std::string name_, text_;
  std::set<std::string> known_;
};

std::string sizes_label(const DriftCompared& c) { return c.sizes ? std::string(name_of(*c.sizes)) : std::string{}; }

}  // namespace

std::string drift_textfile(const Drift& d) {
  Gauge drifted{"linkcast_drift",
                "1 where something is slower than the baseline by more than the tolerance, or broken, else 0."};
  drifted.sample({}, d.slower() || d.broken() ? 1 : 0);
  Gauge faults{"linkcast_drift_faults", "Number of wrong results and of links that carry nothing any more."};
  faults.sample({}, static_cast<double>(d.faults.size()));
  Gauge launch{"linkcast_drift_only_launch",
               "1 where only collectives below 1 MiB are slower: the host, not the links."};
  launch.sample({}, d.only_launch() ? 1 : 0);
  Gauge tolerance{"linkcast_drift_tolerance_ratio", "Times longer by less than this share are no drift."};
  tolerance.sample({}, d.options.tolerance);
  int slower = 0;
  for (const auto& f : d.findings) slower += f.change.slower();
  Gauge findings{"linkcast_drift_findings", "Number of findings by direction."};
  findings.sample({{"direction", "slower"}}, slower);
  findings.sample({{"direction", "faster"}}, static_cast<double>(d.findings.size()) - slower);
  Gauge missing{"linkcast_drift_not_compared", "Number of measurements, or parts of them, without a partner."};
  missing.sample({}, static_cast<double>(d.not_compared.size()));

  Gauge ratio{"linkcast_drift_time_ratio", "New time over baseline time of everything that was compared."};
  Gauge seen{"linkcast_drift_seen_from_ratio", "Time ratio from which on a slowdown is found nine times in ten."};
  for (const auto& c : d.compared) {
    ratio.sample({{"what", c.what}, {"sizes", sizes_label(c)}}, std::exp(c.change.log_ratio));
    seen.sample({{"what", c.what}, {"sizes", sizes_label(c)}}, std::exp(c.would_be_seen));
  }
  Gauge found{"linkcast_drift_finding_time_ratio", "New time over baseline time of what drifted or improved."};
  Gauge sure{"linkcast_drift_finding_probability", "Probability that the true change exceeds the tolerance."};
  for (const auto& f : d.findings) {
    const Labels labels{{"what", f.what},
                        {"where", f.place},
                        {"sizes", f.from ? sizes_of(f) : std::string{}},
                        {"direction", f.change.slower() ? "slower" : "faster"}};
    found.sample(labels, std::exp(f.change.log_ratio));
    sure.sample(labels, f.change.probability);
  }
  std::string out;
  for (const auto* g : {&drifted, &faults, &launch, &tolerance, &findings, &missing, &ratio, &seen}) out += g->str();
  if (!d.findings.empty()) out += found.str() + sure.str();
  return out;
}

}  // namespace linkcast::calibration
