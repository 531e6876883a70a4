// See scenario_read.hpp.
#include "scenario_read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "linkcast/workloads/packet_keys.hpp"
#include "linkcast/workloads/scenario_file.hpp"
#include "trace_read.hpp"

namespace linkcast::workloads::trace {
namespace {

const std::vector<std::string> launch_words{"single-process", "multi-process", "graph"};
const std::vector<std::string> fidelity_words{"flow", "chunk", "packet"};

/// The place of a word among others; reported where it is none of them.
std::optional<std::size_t> choice(Fields& f, std::string_view key, const std::vector<std::string>& words) {
  const auto word = f.word(key);
  if (!word) return std::nullopt;
  const auto found = std::ranges::find(words, *word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  f.problems().add(*f.value().get(key), fmt::format("'{}' is no {}", *word, key), suggest(*word, words));
  return std::nullopt;
}

class Reader {
 public:
  Reader(const Source& file, const std::vector<std::string>& set, std::shared_ptr<const topologies::Profile> profile)
      : file_{file}, profile_{std::move(profile)} {
    root_ = parse_yaml(file, problems_);
    if (root_.kind == Value::Kind::null) problems_.throw_if_any();
    for (const auto& s : set) override_one(root_, s, problems_);
  }

  Scenario read() {
    Fields f{problems_, root_, "the scenario"};
    if (!f.sound()) problems_.throw_if_any();
    if (const auto schema = f.word("schema"); schema && *schema != "linkcast.scenario/1") {
      problems_.add(*root_.get("schema"), fmt::format("unknown schema '{}'", *schema), "write linkcast.scenario/1");
    }
    title_ = f.word("title").value_or(std::filesystem::path{file_->name}.filename().string());
    read_settings(f);
    read_topology(f);
    read_workload(f);
    if (const auto* packet = f.find("packet"))
      options_.packet = read_packet_settings(problems_, packet, topologies::Network{});
    for (const auto& key : planning_keys()) f.find(key);
    f.done();
    if (const auto* ranks = root_.get("ranks");
        ranks != nullptr && fabric_ && trace_.ranks > 0 && trace_.ranks != static_cast<int>(gpus_.size())) {
      problems_.add(*ranks, fmt::format("the scenario has {} ranks, its trace {}", gpus_.size(), trace_.ranks),
                    "leave 'ranks' out here, or write the number of the trace");
    }
    problems_.throw_if_any();
    std::vector<int> gpus = gpus_;
    gpus.resize(static_cast<std::size_t>(trace_.ranks));
    return {std::move(title_), fabric_->slice(gpus), std::move(options_), std::move(trace_),
            root_.get("topology")->place};
  }

 private:
  void read_settings(Fields& f) {
    if (const auto version = f.word("nccl")) {
      try {
        options_.nccl = models::nccl::Version::parse(*version);
      } catch (const sim::InputError& e) {
        relocate(problems_, root_.get("nccl")->place, e);
      }
    }
    if (const auto* env = f.find("env")) {
      if (!env->is_map()) problems_.add(*env, "'env' must be a map", "write `NCCL_ALGO: Ring` lines");
      for (const auto& [key, value] : env->entries) {
        try {
          options_.env.set(key.text, value.text);
        } catch (const sim::InputError& e) {
          relocate(problems_, key.place, e);
        }
      }
    }
    if (const auto i = choice(f, "launch", launch_words)) {
      options_.launch = std::array{models::LaunchMode::single_process, models::LaunchMode::multi_process,
                                   models::LaunchMode::graph}[*i];
    }
    if (const auto t = f.time("launch_floor", true)) options_.launch_floor = *t;
    if (const auto i = choice(f, "fidelity", fidelity_words))
      options_.fidelity = std::array{Fidelity::flow, Fidelity::chunk, Fidelity::packet}[*i];
  }

  void read_topology(Fields& f) {
    topologies::LoadOptions load;
    if (const auto* params = f.find("params")) {
      if (!params->is_map()) problems_.add(*params, "'params' must be a map", "write `name: value` lines");
      for (const auto& [key, value] : params->entries) load.params[key.text] = value.text;
    }
    load.profile = profile_;
    if (const auto* at = f.find("profile")) {
      const auto name = f.word("profile");
      try {
        if (name && !profile_) load.profile = topologies::Profile::read(beside(*name));
      } catch (const sim::InputError& e) {
        relocate(problems_, at->place, e);
      }
    }
    const auto* ranks = f.find("ranks");
    const auto* gpus = f.find("gpus");
    const auto* at = f.need("topology");
    if (at != nullptr) {
      if (const auto name = f.word("topology")) {
        try {
          fabric_ = topologies::load(beside(*name), load);
        } catch (const sim::InputError& e) {
          relocate(problems_, at->place, e);
        }
      }
    }
    const int count = fabric_ ? static_cast<int>(fabric_->gpus().size()) : -1;
    if (gpus != nullptr) {
      gpus_ = gpus_of(*gpus, count);
      if (ranks != nullptr)
        problems_.add(*ranks, "'ranks' and 'gpus' together", "'gpus' says how many there are: leave 'ranks' out");
      return;
    }
    int n = count;
    if (ranks != nullptr) {
      if (const auto r = integer_of(problems_, *ranks, "ranks", 1, count < 0 ? 1'000'000 : count))
        n = static_cast<int>(*r);
    }
    if (fabric_) {
      gpus_.resize(static_cast<std::size_t>(n));
      std::iota(gpus_.begin(), gpus_.end(), 0);
    }
  }

  std::vector<int> gpus_of(const Value& v, int count) { return ranks_of(problems_, v, "'gpus'", count); }

  void read_workload(Fields& f) {
    const auto* v = f.need("workload");
    if (v == nullptr) return;
    const int available = fabric_ ? static_cast<int>(gpus_.size()) : -1;
    const auto* file = v->is_scalar() ? v : v->get("file");
    if (file == nullptr) {
      trace_ = read_program_trace(problems_, *v, available);
      return;
    }
    if (v->is_map()) {
      Fields only{problems_, *v, "the workload"};
      only.find("file");
      only.done();
    }
    if (!file->is_scalar() || file->text.empty()) {
      problems_.add(*file, "'file' must be a path");
      return;
    }
    const auto path = beside(file->text);
    const auto extension = std::filesystem::path{path}.extension();
    if (extension == ".yaml" || extension == ".yml") {
      const auto source = located(*file, [&] { return read_source(path, "write long traces as JSON Lines"); });
      if (!source) return;
      const auto root = parse_yaml(*source, problems_);
      if (root.kind != Value::Kind::null) trace_ = read_program_trace(problems_, root, available);
    } else if (extension == ".jsonl" || extension == ".json") {
      if (auto trace = located(*file, [&] { return read_line_trace(problems_, path, available); }))
        trace_ = std::move(*trace);
    } else {
      problems_.add(*file, fmt::format("a trace ends in .yaml or .jsonl: '{}'", file->text));
    }
  }

  /// A file that cannot be read is a mistake at the place that names it.
  template <typename Read>
  auto located(const Value& at, const Read& read) -> std::optional<decltype(read())> {
    try {
      return read();
    } catch (const sim::InputError& e) {
      for (const auto& d : e.diagnostics()) {
        problems_.add(at, d.at.file.empty() ? d.problem : fmt::format("{}: {}", d.at.file, d.problem), d.help);
      }
      return std::nullopt;
    }
  }

  /// Relative to the scenario's folder where there is such a file; as it is otherwise.
  std::string beside(const std::string& name) const {
    const auto path = std::filesystem::path{file_->name}.parent_path() / name;
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) ? path.string() : name;
  }

  const Source& file_;
  std::shared_ptr<const topologies::Profile> profile_;
  Problems problems_;
  Value root_;
  std::string title_;
  std::optional<topologies::Fabric> fabric_;
  std::vector<int> gpus_;
  CommunicatorOptions options_;
  Trace trace_;
};

}  // namespace

Scenario read_scenario(const Source& file, const std::vector<std::string>& set,
                       std::shared_ptr<const topologies::Profile> profile) {
  return Reader{file, set, std::move(profile)}.read();
}

}  // namespace linkcast::workloads::trace
