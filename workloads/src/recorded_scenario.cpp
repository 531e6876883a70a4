// See recorded_scenario.hpp.
#include "linkcast/workloads/recorded_scenario.hpp"
#include "linkcast/workloads/packet_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "linkcast/workloads/problem_places.hpp"
#include "linkcast/workloads/scenario_file.hpp"
#include "linkcast/workloads/step.hpp"
#include "linkcast/workloads/trace_fields.hpp"

namespace linkcast::workloads {
namespace {

using trace::Fields;
using trace::Problems;
using trace::Value;

const std::vector<std::string> work_words{"gemm", "attention", "elementwise", "copy", "other"};

class Reader {
 public:
  Reader(const ScenarioFile& file, std::shared_ptr<const topologies::Profile> profile, const ClusterSource& clusters)
      : path_{file.path}, root_{file.root}, profile_{std::move(profile)}, clusters_{clusters} {}

  RecordedScenario read() {
    Fields f{problems_, root_, "the scenario"};
    if (!f.sound()) problems_.throw_if_any();
    if (const auto schema = f.word("schema"); schema && *schema != "linkcast.scenario/1")
      problems_.add(*root_.get("schema"), fmt::format("unknown schema '{}'", *schema), "write linkcast.scenario/1");
    auto title = f.word("title").value_or(std::filesystem::path{path_}.filename().string());
    options_.library = read_library(f);
    machine_ = read_machine(f, folder(), profile_, options_.library);
    read_replay(f);
    auto recording = read_workload(f);
    const auto* packet = f.find("packet");
    for (const auto& key : planning_keys()) f.find(key);
    f.done();
    problems_.throw_if_any();
    std::optional<topologies::Cluster> cluster;
    try {
      cluster = clusters_(machine_, recording->world);
    } catch (const sim::InputError& e) {
      trace::relocate(problems_, root_.get("topology")->place, e);
    }
    if (cluster && packet != nullptr)
      options_.library.packet = read_packet_settings(problems_, packet, cluster->network());
    problems_.throw_if_any();
    return {std::move(title), std::move(*cluster), std::move(*recording), std::move(options_)};
  }

 private:
  std::optional<double> ratio(const Value& v, std::string_view what, double low, double high) {
    char* end = nullptr;
    const double x = v.is_scalar() ? std::strtod(v.text.c_str(), &end) : 0;
    if (!v.is_scalar() || v.text.empty() || *end != '\0' || !(x >= low && x <= high)) {
      problems_.add(v, fmt::format("{} must be a number from {} to {}", what, low, high));
      return std::nullopt;
    }
    return x;
  }

  void read_replay(Fields& f) {
    const auto* v = f.find("replay");
    if (v == nullptr) return;
    Fields r{problems_, *v, "'replay'"};
    if (!r.sound()) return;
    if (const auto* x = r.find("compute_scale"))
      options_.compute_scale = ratio(*x, "compute_scale", 0, 1e6).value_or(1);
    if (const auto* scales = r.find("work_scale")) {
      if (!scales->is_map()) problems_.add(*scales, "'work_scale' must be a map", "write `{gemm: 0.4}`");
      for (const auto& [key, value] : scales->entries) {
        const auto found = std::ranges::find(work_words, key.text);
        if (found == work_words.end()) {
          problems_.add(key, fmt::format("there is no kind of work '{}'", key.text),
                        trace::suggest(key.text, work_words));
          continue;
        }
        if (const auto x = ratio(value, key.text, 0, 1e6))
          options_.work_scale[static_cast<Work>(found - work_words.begin())] = *x;
      }
    }
    if (const auto* slow = r.find("slow_ranks")) {
      if (!slow->is_map())
        problems_.add(*slow, "'slow_ranks' must be a map", "write `{3: 1.2}`: rank 3 takes 1.2 times");
      for (const auto& [key, value] : slow->entries) {
        const auto rank = trace::integer_of(problems_, key, "a rank", 0, 100'000'000);
        if (const auto x = ratio(value, "a slowdown", 0, 1e6); x && rank)
          options_.slow_ranks[static_cast<int>(*rank)] = *x;
      }
    }
    if (const auto* x = r.find("jitter")) options_.jitter = ratio(*x, "jitter", 0, 2).value_or(0);
    if (const auto seed = r.integer("seed", 0, 1'000'000'000)) options_.seed = static_cast<std::uint64_t>(*seed);
    if (const auto b = r.boolean("share")) options_.share = *b;
    if (const auto b = r.boolean("keep_communication")) options_.keep_communication = *b;
    r.done();
  }

  std::optional<Recording> read_workload(Fields& f) {
    const auto* v = f.need("workload");
    if (v == nullptr) return std::nullopt;
    Fields w{problems_, *v, "the workload"};
    if (!w.sound()) return std::nullopt;
    RecordingOptions options;
    options.format = w.word("format").value_or("");
    if (const auto world = w.integer("world", 1, 100'000'000)) options.world = static_cast<int>(*world);
    for (const auto& name : w.words("beside")) options.beside.push_back(beside(name));
    std::vector<std::string> paths;
    for (const auto& name : w.words("trace")) paths.push_back(beside(name));
    const auto* at = v->get("trace");
    if (const auto* step = w.find("step")) {
      if (at != nullptr) problems_.add(*at, "'trace' and 'step' together", "keep one of them");
      w.done();
      return read_step(*step);
    }
    w.done();
    if (paths.empty()) {
      problems_.add(*v, "'trace' names no file",
                    "write `trace: step.json.gz`, or a list of the files of several ranks");
      return std::nullopt;
    }
    try {
      return open_recording(paths, options);
    } catch (const sim::InputError& e) {
      trace::add_foreign(problems_, *at, e);
      return std::nullopt;
    }
  }

  std::optional<Recording> read_step(const Value& v) {
    Fields s{problems_, v, "the step"};
    if (!s.sound()) return std::nullopt;
    const auto* model = s.need("model");
    const auto* plan = s.need("plan");
    const auto card_path = s.word("model");
    const auto* serving = s.find("serving");
    std::optional<Serving> wanted;
    if (serving != nullptr) wanted = read_serving(*serving);
    s.done();
    std::optional<ModelCard> card;
    std::optional<Plan> read;
    if (card_path) {
      try {
        card = read_model_card(beside(*card_path));
      } catch (const sim::InputError& e) {
        trace::add_foreign(problems_, *model, e);
      }
    }
    if (plan != nullptr) {
      try {
        read = read_plan(written_in_place(*plan), path_, plan->place.line, plan->place.column);
      } catch (const sim::InputError& e) {
        trace::add_own(problems_, *plan, e);
      }
    }
    if (!card || !read || machine_.topology.empty()) return std::nullopt;
    std::optional<topologies::Cluster> cluster;
    try {
      cluster = clusters_(machine_, read->gpus);
    } catch (const sim::InputError& e) {
      trace::relocate(problems_, root_.get("topology")->place, e);
      return std::nullopt;
    }
    try {
      const auto& machine = cluster->machine(0);
      const auto& gpu = machine.gpu_model(machine.gpus()[0]);
      return wanted ? serving_recording(*card, *read, *wanted, gpu, compute_efficiency(gpu, read->precision))
                    : step_recording(*card, *read, gpu);
    } catch (const sim::InputError& e) {
      trace::add_own(problems_, *plan, e);
      return std::nullopt;
    }
  }

  std::optional<Serving> read_serving(const Value& v) {
    static const std::vector<std::string> phases{"prefill", "decode", "transfer"};
    Fields f{problems_, v, "'serving'"};
    if (!f.sound()) return std::nullopt;
    Serving out;
    f.need("phase");
    if (const auto phase = f.word("phase")) {
      const auto found = std::ranges::find(phases, *phase);
      if (found == phases.end())
        problems_.add(*v.get("phase"), fmt::format("'{}' is no phase", *phase), trace::suggest(*phase, phases));
      else
        out.phase = static_cast<Serving::Phase>(found - phases.begin());
    }
    const auto whole = [&](std::string_view key, int& into) {
      if (const auto n = f.integer(key, 0, 1'000'000'000)) into = static_cast<int>(*n);
    };
    whole("batch", out.batch);
    whole("input", out.input);
    whole("cached", out.cached);
    whole("to", out.to);
    f.done();
    return out;
  }

  std::string folder() const { return std::filesystem::path{path_}.parent_path().string(); }
  std::string beside(const std::string& name) const { return workloads::beside(folder(), name); }

  const std::string& path_;
  const Value& root_;
  std::shared_ptr<const topologies::Profile> profile_;
  const ClusterSource& clusters_;
  ScenarioMachine machine_;
  RecordingReplayOptions options_;
  Problems problems_;
};

}  // namespace

bool is_recorded_scenario(const std::string& path, const std::vector<std::string>& set) {
  try {
    return workload_kind(open_scenario(path, set)) == WorkloadKind::recording;
  } catch (const sim::InputError&) {
    return false;
  }
}

RecordedScenario read_recorded_scenario(const std::string& path, const std::vector<std::string>& set,
                                        std::shared_ptr<const topologies::Profile> profile) {
  return read_recorded_scenario(open_scenario(path, set), std::move(profile));
}

RecordedScenario read_recorded_scenario(const ScenarioFile& scenario,
                                        std::shared_ptr<const topologies::Profile> profile,
                                        const ClusterSource& clusters) {
  return Reader{scenario, std::move(profile), clusters}.read();
}

}  // namespace linkcast::workloads
