// A study as one HTML file for the people who decide: the verdict first, then goals, charts, assumptions, and how to
// get the same again. Made from what the command answers as JSON, and a few facts that the JSON does not have. The file
// needs no network, no other file, and no script but its own. Runs nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace linkcast::planning {

/// One thing that a lane of a timeline did.
struct ReportSpan {
  std::string lane;  // "rank 0, compute"
  std::string name;  // "all_reduce 64 MiB"
  std::string kind;  // what it is coloured by: "compute", "tp"
  double start_us = 0, end_us = 0;
};

/// Links of one kind, and how much of their rate was used, in percent.
struct ReportTier {
  std::string name;  // "nvlink", "leaf to spine"
  std::int64_t links = 0;
  double busiest = 0, mean = 0;
  std::string busiest_link;
};

struct ReportInput {
  std::string path;
  std::string hash;  // "sha256:…"; empty: could not be read
};

struct ReportFacts {
  std::string command;               // as it was typed
  std::string version;               // "linkcast 0.1.0"
  std::string topology_svg;          // of topologies::to_svg, taken as it is; empty: no drawing
  std::vector<ReportTier> tiers;     // the busiest first
  std::vector<ReportSpan> timeline;  // an excerpt; empty: none
  std::string timeline_note;         // what it is an excerpt of
  std::vector<std::string> assumptions;
  std::vector<ReportInput> inputs;
  std::optional<std::uint64_t> seed;
};

/// `json`: of schema linkcast.sweep/1, plan/1, resilience/1, interference/1, run/1, replay/1 or collective/1. Fields
/// that it lacks leave their section out. Equal arguments give equal files. Throws sim::InputError for a text that is
/// no JSON object or of another schema.
std::string html_report(std::string_view json, const ReportFacts& facts);

/// Whether this build has the plotting library; without it a report has tables, and says what is missing.
bool report_has_charts();

/// "sha256:…" of a file's bytes; empty where it cannot be read.
std::string file_hash(const std::string& path);

}  // namespace linkcast::planning
