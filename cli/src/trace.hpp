// The commands of `linkcast trace`, one file each, and what they share.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "form.hpp"
#include "linkcast/workloads/recording.hpp"
#include "words.hpp"

namespace linkcast::cli {

/// How a trace is named on a command line.
struct TraceFiles {
  std::vector<std::string> files, beside;
  std::string format, world;

  void add_to(Form& form);
  workloads::Recording open(Problems& problems) const;
};

/// What is in a recording: counted while it is read.
struct TraceSummary {
  struct Computed {
    std::int64_t count = 0;
    sim::Time time;
  };
  struct Called {
    std::int64_t count = 0, bytes = 0, measured_count = 0;
    sim::Bytes smallest, largest;
    sim::Time measured;
  };
  struct Stream {
    std::int64_t count = 0;
    sim::Time busy;
  };
  std::int64_t operations = 0;
  sim::Time span;                                                // as recorded, of the rank that took longest
  std::map<std::string, Computed> compute;                       // by class
  std::map<std::pair<std::string, std::string>, Called> called;  // by communicator's label and operation
  std::map<std::string, Stream> streams;
  bool interrupted = false;
};

std::string label_of(const workloads::RecordedCommunicator& c);
std::string trace_text(const workloads::Recording& r, const TraceSummary& s);
std::string trace_json(const std::vector<std::string>& files, const workloads::Recording& r, const TraceSummary& s);

void add_trace_info(Form& trace);
void add_trace_convert(Form& trace);
void add_trace_anonymise(Form& trace);

}  // namespace linkcast::cli
