// See jobs.hpp. Reads the whole list before anything is placed, and places everything before a workload is read, so
// that each kind of mistake is said completely.
#include "linkcast/planning/jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/slurm_export.hpp"
#include "linkcast/workloads/sizes.hpp"
#include "said.hpp"

namespace linkcast::planning {
namespace {

using topologies::Placement;
using workloads::ScenarioFile;
using workloads::trace::Fields;
using workloads::trace::Problems;
using workloads::trace::Value;

const std::vector<std::string> placement_words{"packed", "strided", "fragmented"};

std::string size_text(sim::Bytes size) {
  const auto n = size.count();
  for (const auto& [unit, shift] : {std::pair{"GiB", 30}, {"MiB", 20}, {"KiB", 10}})
    if (n >= std::int64_t{1} << shift && n % (std::int64_t{1} << shift) == 0)
      return fmt::format("{} {}", n >> shift, unit);
  return fmt::format("{} B", n);
}

struct Written {
  Job job;
  const Value* at = nullptr;        // the job
  const Value* hosts = nullptr;     // its hosts
  const Value* workload = nullptr;  // its own, or the scenario's
  std::string host_list;
};

class Reader {
 public:
  Reader(const ScenarioFile& file, std::shared_ptr<const topologies::Profile> profile,
         const workloads::ClusterSource& clusters)
      : file_{file}, profile_{std::move(profile)}, clusters_{clusters} {}

  JobSet read() {
    Fields f{problems_, file_.root, "the scenario"};
    if (!f.sound()) problems_.throw_if_any();
    if (const auto schema = f.word("schema"); schema && *schema != "linkcast.scenario/1")
      problems_.add(*file_.root.get("schema"), fmt::format("unknown schema '{}'", *schema),
                    "write linkcast.scenario/1");
    auto title = f.word("title").value_or(std::filesystem::path{file_.path}.filename().string());
    auto library = workloads::read_library(f);
    if (library.fidelity != workloads::Fidelity::flow)
      problems_.add(*file_.root.get("fidelity"), "jobs share a network at fidelity flow only", "leave 'fidelity' out");
    const auto machine = workloads::read_machine(f, file_.folder(), profile_);
    f.find("replay");
    workload_ = f.find("workload");
    for (const auto& key : workloads::planning_keys()) f.find(key);
    f.done();
    std::vector<Goal> goals;
    if (const auto* v = said(file_.root, "goals")) goals = read_goals(problems_, *v);
    read_list(*file_.root.get("jobs"));
    problems_.throw_if_any();

    std::optional<topologies::Cluster> cluster;
    try {
      cluster = clusters_(machine, 0);
    } catch (const sim::InputError& e) {
      workloads::trace::relocate(problems_, file_.root.get("topology")->place, e);
    }
    problems_.throw_if_any();
    place(*cluster);
    problems_.throw_if_any();
    for (auto& w : written_) read_workload(*cluster, w);
    throw_if_any();
    JobSet out{std::move(title), std::move(*cluster), std::move(library), {}, std::move(goals)};
    for (auto& w : written_) out.jobs.push_back(std::move(w.job));
    return out;
  }

 private:
  void read_list(const Value& list) {
    if (!list.is_sequence() || list.items.empty()) {
      problems_.add(list, "'jobs' must be a list of jobs",
                    "write `- {name: a, nodes: 16, workload: {collective: {op: alltoall, size: 64 MiB}}}` lines");
      return;
    }
    std::set<std::string> names;
    for (const auto& item : list.items) {
      Fields f{problems_, item, "the job"};
      if (!f.sound()) continue;
      Written w;
      w.at = &item;
      const auto* name = f.need("name");
      w.job.name = f.word("name").value_or("");
      if (name != nullptr && !w.job.name.empty() && !names.insert(w.job.name).second)
        problems_.add(*name, fmt::format("a second job '{}'", w.job.name), "give each a name of its own");
      const auto* nodes = f.find("nodes");
      if (const auto n = f.integer("nodes", 1, 1'000'000)) w.job.count = static_cast<int>(*n);
      const auto* placement = f.find("placement");
      if (const auto word = f.word("placement")) {
        const auto found = std::ranges::find(placement_words, *word);
        if (found == placement_words.end())
          problems_.add(*placement, fmt::format("'{}' is no placement", *word),
                        workloads::trace::suggest(*word, placement_words));
        else
          w.job.placement = static_cast<Placement>(found - placement_words.begin());
      }
      const auto* seed = f.find("seed");
      if (const auto n = f.integer("seed", 0, 1'000'000'000)) w.job.seed = static_cast<std::uint64_t>(*n);
      w.hosts = f.find("hosts");
      if (const auto hosts = f.word("hosts")) w.host_list = *hosts;
      w.job.by_hosts = w.hosts != nullptr;
      if (w.hosts != nullptr && (nodes != nullptr || placement != nullptr || seed != nullptr))
        problems_.add(*w.hosts, "'hosts' names the nodes: it excludes 'nodes', 'placement' and 'seed'", "keep one");
      else if (w.hosts == nullptr && nodes == nullptr)
        problems_.add(item, fmt::format("job '{}' says neither 'nodes' nor 'hosts'", w.job.name),
                      "write `nodes: 16`, or `hosts: \"node[0-15]\"`");
      w.workload = f.find("workload");
      if (w.workload == nullptr) w.workload = workload_;
      if (w.workload == nullptr)
        problems_.add(item, fmt::format("job '{}' has no 'workload'", w.job.name),
                      "write `workload: {collective: {op: alltoall, size: 64 MiB}}`, a step, or a trace");
      f.done();
      written_.push_back(std::move(w));
    }
  }

  void place(const topologies::Cluster& cluster) {
    std::vector<int> owner(static_cast<std::size_t>(cluster.nodes()), -1);
    std::vector<int> taken;
    for (std::size_t i = 0; i < written_.size(); ++i) {
      auto& w = written_[i];
      if (!w.job.by_hosts) continue;
      try {
        w.job.nodes = topologies::placed(cluster, w.host_list);
      } catch (const sim::InputError& e) {
        workloads::trace::relocate(problems_, w.hosts->place, e);
      }
      w.job.count = static_cast<int>(w.job.nodes.size());
      for (const int n : w.job.nodes) {
        auto& o = owner[static_cast<std::size_t>(n)];
        if (o >= 0) {
          problems_.add(*w.hosts,
                        fmt::format("{} belongs to job '{}' already", topologies::host_list(cluster, std::array{n}),
                                    written_[static_cast<std::size_t>(o)].job.name),
                        "a node runs one job");
          break;
        }
        o = static_cast<int>(i);
        taken.push_back(n);
      }
    }
    if (!problems_.empty()) return;
    for (auto& w : written_) {
      if (w.job.by_hosts) continue;
      const int left = cluster.nodes() - static_cast<int>(taken.size());
      if (w.job.count > left) {
        problems_.add(*w.at->get("nodes"),
                      fmt::format("job '{}' wants {} nodes, {} are free", w.job.name, w.job.count, left),
                      fmt::format("'{}' has {}", cluster.name(), cluster.nodes()));
        return;
      }
      const Wanted wanted{w.job.count, w.job.placement, w.job.seed};
      w.job.nodes = place_jobs(cluster, {&wanted, 1}, taken).front();
      taken.insert(taken.end(), w.job.nodes.begin(), w.job.nodes.end());
    }
  }

  /// The scenario as if the job had the cluster for itself.
  ScenarioFile alone(const Value& workload) const {
    ScenarioFile out{file_.path, file_.root};
    std::erase_if(out.root.entries, [](const auto& e) { return e.first.text == "jobs" || e.first.text == "workload"; });
    Value key;
    key.kind = Value::Kind::scalar;
    key.text = "workload";
    key.place = workload.place;
    out.root.entries.emplace_back(std::move(key), workload);
    return out;
  }

  void read_workload(const topologies::Cluster& cluster, Written& w) {
    const auto scenario = alone(*w.workload);
    const auto mine = cluster.job(w.job.nodes);
    const workloads::ClusterSource source = [&](const workloads::ScenarioMachine&, int) { return mine; };
    try {
      switch (workloads::workload_kind(scenario)) {
        case workloads::WorkloadKind::collective: {
          const auto read = workloads::read_collective_scenario(scenario, profile_, source);
          w.job.call = read.call;
          w.job.workload = fmt::format("{} {}", name_of(read.call.op), size_text(read.call.bytes));
          break;
        }
        case workloads::WorkloadKind::recording: {
          w.job.recorded = workloads::read_recorded_scenario(scenario, profile_, source);
          w.job.workload = w.job.recorded->recording.source;
          if (w.job.recorded->recording.world > mine.ranks())
            problems_.add(*w.workload,
                          fmt::format("job '{}' needs {} GPUs, its {} nodes have {}", w.job.name,
                                      w.job.recorded->recording.world, w.job.count, mine.ranks()),
                          fmt::format("give it {} nodes", (w.job.recorded->recording.world + mine.gpus_per_node() - 1) /
                                                              mine.gpus_per_node()));
          break;
        }
        case workloads::WorkloadKind::flows:
        case workloads::WorkloadKind::programs:
          problems_.add(*w.workload, fmt::format("job '{}' has no workload that can share a network", w.job.name),
                        "a collective, a step, or a trace");
      }
    } catch (const sim::InputError& e) {
      errors_.push_back(e);
    }
  }

  /// Problems of this reader and of those below it, together.
  void throw_if_any() {
    try {
      problems_.throw_if_any();
    } catch (const sim::InputError& e) {
      errors_.insert(errors_.begin(), e);
    }
    if (errors_.empty()) return;
    if (errors_.size() == 1) throw errors_.front();
    std::vector<sim::Diagnostic> all;
    const auto known = [&](const sim::Diagnostic& d) {
      return std::ranges::any_of(all, [&](const sim::Diagnostic& x) {
        return x.problem == d.problem && x.at.line == d.at.line && x.at.column == d.at.column && x.at.file == d.at.file;
      });
    };
    for (const auto& e : errors_)
      for (const auto& d : e.diagnostics())
        if (!known(d)) all.push_back(d);
    const auto& source = file_.root.place.source;
    throw sim::InputError(std::move(all), source ? source->text : std::string{});
  }

  const ScenarioFile& file_;
  std::shared_ptr<const topologies::Profile> profile_;
  const workloads::ClusterSource& clusters_;
  const Value* workload_ = nullptr;  // the scenario's
  std::vector<Written> written_;
  std::vector<sim::InputError> errors_;
  Problems problems_;
};

}  // namespace

bool has_jobs(const ScenarioFile& scenario) { return scenario.root.is_map() && scenario.root.get("jobs") != nullptr; }

bool has_jobs(const std::string& path, const std::vector<std::string>& set) {
  try {
    return has_jobs(workloads::open_scenario(path, set));
  } catch (const sim::InputError&) {
    return false;
  }
}

JobSet read_jobs(const ScenarioFile& scenario, std::shared_ptr<const topologies::Profile> profile,
                 const workloads::ClusterSource& clusters) {
  if (!has_jobs(scenario)) throw sim::InputError("a scenario without 'jobs'", "docs/interference.md describes them");
  return Reader{scenario, std::move(profile), clusters}.read();
}

}  // namespace linkcast::planning
