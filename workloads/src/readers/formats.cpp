// See formats.hpp.
#include "formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "aicb_csv.hpp"
#include "astra_inputs.hpp"
#include "byte_source.hpp"
#include "chakra.hpp"
#include "flight_recorder.hpp"
#include "goal.hpp"
#include "inspector.hpp"
#include "kineto.hpp"
#include "layers.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "native.hpp"
#include "nccl_log.hpp"
#include "nccl_profiler.hpp"
#include "nsys.hpp"
#include "param_comms.hpp"
#include "pytorch_et.hpp"
#include "recorded.hpp"

namespace linkcast::workloads {
namespace readers {
namespace {

constexpr std::array table{
    Format{"linkcast", "Linkcast's own trace (docs/trace.md)", is_native, open_native},
    Format{"recording", "Linkcast's own recording (docs/trace.md)", is_recorded, open_recorded},
    Format{"nsys", "nsys export --type sqlite", is_nsys, open_nsys},
    Format{"flight-recorder", "PyTorch Flight Recorder, JSON or pickle", is_flight_recorder, open_flight_recorder},
    Format{"nccl-inspector", "NCCL inspector's JSON Lines", is_inspector, open_inspector},
    Format{"nccl-profiler", "NCCL example profiler plugin's Chrome trace", is_nccl_profiler, open_nccl_profiler},
    Format{"nccl-log", "NCCL_DEBUG=INFO log (INIT and COLL)", is_nccl_log, open_nccl_log},
    Format{"pytorch-et", "PyTorch execution trace (ExecutionTraceObserver), alone or beside a Kineto trace",
           is_pytorch_et, open_pytorch_et},
    Format{"goal", "GOAL schedule (LogGOPSim, ATLAHS), text or binary", is_goal, open_goal},
    Format{"layers", "SimAI, AICB or ASTRA-sim text workload", is_layers, open_layers},
    Format{"aicb", "AICB CSV of one step", is_aicb_csv, open_aicb_csv},
    Format{"kineto", "PyTorch profiler trace (Kineto JSON)", is_kineto, open_kineto},
    Format{"param-comms", "PARAM communication trace (JSON)", is_param_comms, open_param_comms},
    Format{"chakra", "Chakra execution trace, .et or JSON", is_chakra, open_chakra},
};

/// Numbers within names by their value.
bool as_people_count(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      std::size_t m = i, n = j;
      while (m < a.size() && digit(a[m])) ++m;
      while (n < b.size() && digit(b[n])) ++n;
      auto x = a.substr(i, m - i), y = b.substr(j, n - j);
      x.erase(0, std::min(x.find_first_not_of('0'), x.size() - 1));
      y.erase(0, std::min(y.find_first_not_of('0'), y.size() - 1));
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      i = m, j = n;
      continue;
    }
    if (a[i] != b[j]) return a[i] < b[j];
    ++i, ++j;
  }
  return a.size() - i < b.size() - j;
}

std::string known() {
  std::string out;
  for (const auto& f : table) out += fmt::format("{}{}", out.empty() ? "" : ", ", f.name);
  return out;
}

}  // namespace

std::span<const Format> formats() { return table; }

std::vector<std::string> files_of(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(path, error))
    if (entry.is_regular_file(error) && entry.path().filename().string().front() != '.')
      out.push_back(entry.path().string());
  std::ranges::sort(out, as_people_count);
  if (out.empty()) throw sim::InputError(fmt::format("{}: no file in this folder", path), "give the trace's files");
  return out;
}

Probe probe(const std::string& path) {
  Probe p{path, std::string(std::size_t{64} << 10, '\0')};
  ByteSource source{path};
  std::size_t have = 0;
  while (have < p.head.size()) {
    const auto n = source.read(p.head.data() + have, p.head.size() - have);
    if (n == 0) break;
    have += n;
  }
  p.head.resize(have);
  return p;
}

}  // namespace readers

Recording open_recording(const std::vector<std::string>& paths, const RecordingOptions& options) {
  std::vector<std::string> files;
  for (const auto& p : paths)
    for (auto& f : readers::files_of(p)) files.push_back(std::move(f));
  if (files.empty()) throw sim::InputError("no trace given", "name a file, the files of several ranks, or a folder");
  const auto all = readers::formats();
  if (!options.format.empty()) {
    const auto found = std::ranges::find_if(all, [&](const auto& f) { return f.name == options.format; });
    if (found == all.end())
      throw sim::InputError(fmt::format("unknown format '{}'", options.format), "known: " + readers::known());
    auto recording = found->open(files, options);
    recording.report->format = found->name;
    return recording;
  }
  const auto head = readers::probe(files.front());
  const auto found = std::ranges::find_if(all, [&](const auto& f) { return f.mine(head); });
  if (found == all.end())
    if (const auto what = readers::not_a_workload(head); !what.empty())
      throw sim::InputError(fmt::format("{}: {}", files.front(), what));
  if (found == all.end())
    throw sim::InputError(fmt::format("{}: no format of traces looks like this", files.front()),
                          "known: " + readers::known() + "; --format forces one");
  auto recording = found->open(files, options);
  recording.report->format = found->name;
  return recording;
}

}  // namespace linkcast::workloads
