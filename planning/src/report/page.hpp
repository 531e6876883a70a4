// What the sections of a report share: the study's JSON read with patience, and the parts that a page is made of. Each
// kind of study adds its sections to a page; page.cpp makes a file of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assets.hpp"
#include "chart.hpp"
#include "html.hpp"
#include "linkcast/planning/report.hpp"

namespace linkcast::planning::report {

/// A finite number; nothing where it is missing, null or something else.
std::optional<double> number_of(const Json& object, std::string_view key);
/// `typical` of a band {low, typical, high}, or the number itself.
std::optional<double> typical_of(const Json& object, std::string_view key);
std::string text_of(const Json& object, std::string_view key);
bool flag_of(const Json& object, std::string_view key);
/// The array or object there; an empty one of neither kind where it is missing.
const Json& part_of(const Json& object, std::string_view key);

struct Verdict {
  enum class Mood : unsigned char { neutral, good, bad } mood = Mood::neutral;
  std::string sentence;
  std::vector<std::string> more;
};
/// A figure beside the verdict.
struct Fact {
  std::string name, value, soft = {};
};

class Page {
 public:
  explicit Page(bool charts) : charts_{charts} {}

  std::string kind;  // "Comparison of variants"
  Verdict verdict;
  std::vector<Fact> facts;

  void section(std::string id, std::string heading, std::string html);
  /// The chart, and its rows as a table: folded away beside the chart, in sight where charts are missing.
  std::string chart(const Chart& chart, std::string_view caption, const Table& table) const;
  bool charts() const { return charts_; }

  struct Section {
    std::string id, heading, html;
  };
  const std::vector<Section>& sections() const { return sections_; }

 private:
  bool charts_;
  std::vector<Section> sections_;
};

// One for each kind of study; sections of facts that are missing are left out.
void add_options(Page& page, const Json& study, bool plan);
void add_resilience(Page& page, const Json& study);
void add_interference(Page& page, const Json& study);
void add_run(Page& page, const Json& study, const ReportFacts& facts);
void add_fault_run(Page& page, const Json& study);
void add_collective(Page& page, const Json& study);
// Of all kinds.
void add_links(Page& page, const Json& study, const ReportFacts& facts);
void add_timeline(Page& page, const ReportFacts& facts);
void add_evidence(Page& page, const Json& study, const ReportFacts& facts);

/// Goals of one option, or of the study itself: [{goal, value_text, met, margin_percent, confidence, text}].
Table goal_table(const Json& goals, std::string caption);
/// "half of such predictions within ±5 %, nine of ten within ±12 % (extrapolated)"; empty where nothing is known.
std::string error_text(const Json& object);

/// As html_report, with that plotting library.
std::string html_report(std::string_view json, const ReportFacts& facts, const std::vector<Asset>& library);

}  // namespace linkcast::planning::report
