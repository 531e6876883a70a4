// See run_recording.hpp: the flags, and from them a scenario.
#include "run_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace linkcast::cli {
namespace {

double factor(const std::string& option, const std::string& text, double least, double most) {
  char* end = nullptr;
  const double x = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(x >= least && x <= most))
    throw sim::InputError{fmt::format("{} {}: not a number from {} to {}", option, text, least, most)};
  return x;
}

const std::vector<std::string> works{"gemm", "attention", "elementwise", "copy", "other"};

}  // namespace

void RecordingFlags::add_to(Form& form) {
  form.group("Replay of a trace (without a scenario)");
  form.text("-t,--topology", topology, "NAME|FILE", "the machine to replay it on: a trace, not a scenario, is given");
  form.text("--nodes", nodes, "N", "number of nodes (default: as many as its ranks need)");
  form.text("--network", network, "KIND", "ib, roce, efa, slingshot, tcp (default: as the topology says)");
  form.text("--format", format, "NAME", "of the trace, where its content does not tell");
  form.list("--beside", beside, "FILE", "another file that belongs to it: an execution trace, communicator groups");
  form.text("--world", world, "N", "ranks there are (default: as the trace says)");
  form.text("--compute-scale", compute_scale, "X",
            "recorded computing takes X times as long: 0.5 is a GPU twice as fast");
  form.list("--work-scale", work_scale, "KIND=X", "besides, of gemm, attention, elementwise, copy or other");
  form.list("--slow", slow, "RANK=X", "a straggler: this rank's computing takes X times as long");
  form.text("--jitter", jitter, "X", "every compute varies by about X (0.02: 2 %), seeded");
  form.text("--seed", seed, "N", "of the jitter (default 1)");
  form.flag("--keep-communication", keep_communication, "communication takes as long as it was recorded to");
  form.flag("--no-sharing", alone, "computing and communication take nothing from each other");
  library.add_to(form);
}

std::vector<std::string> RecordingFlags::given() const {
  std::vector<std::string> out;
  const auto add = [&](bool is, const char* name) {
    if (is) out.emplace_back(name);
  };
  add(!nodes.empty(), "--nodes");
  add(!network.empty(), "--network");
  add(!format.empty(), "--format");
  add(!beside.empty(), "--beside");
  add(!world.empty(), "--world");
  add(!compute_scale.empty(), "--compute-scale");
  add(!work_scale.empty(), "--work-scale");
  add(!slow.empty(), "--slow");
  add(!jitter.empty(), "--jitter");
  add(!seed.empty(), "--seed");
  add(keep_communication, "--keep-communication");
  add(alone, "--no-sharing");
  add(!library.nccl.empty(), "--nccl");
  add(!library.env.empty(), "--env");
  add(!library.tuner.empty(), "--tuner");
  return out;
}

workloads::RecordedScenario recorded_scenario(const std::vector<std::string>& files, const RecordingFlags& f,
                                              const std::vector<std::string>& set, const std::string& profile) {
  Problems problems;
  workloads::RecordingReplayOptions options;
  workloads::RecordingOptions reading;
  topologies::ClusterOptions load;
  const auto library = read_library(f.library, problems);
  options.library.nccl = library.version;
  options.library.env = library.env;
  reading.format = f.format;
  reading.beside = f.beside;
  if (!f.world.empty())
    reading.world = problems.collect([&] { return whole_number("--world", f.world, 1, 100'000'000); }).value_or(0);
  if (!f.nodes.empty())
    load.nodes = problems.collect([&] { return whole_number("--nodes", f.nodes, 1, 1'000'000); }).value_or(0);
  if (!f.network.empty()) load.fabric = f.network;
  problems.collect([&] {
    load.params = assignments("--set", set);
    return true;
  });
  if (!profile.empty())
    problems.collect([&] {
      load.profile = topologies::Profile::read(profile);
      return true;
    });
  if (!f.compute_scale.empty())
    if (const auto x = problems.collect([&] { return factor("--compute-scale", f.compute_scale, 0, 1e6); }))
      options.compute_scale = *x;
  if (!f.jitter.empty())
    if (const auto x = problems.collect([&] { return factor("--jitter", f.jitter, 0, 2); })) options.jitter = *x;
  if (!f.seed.empty())
    if (const auto n = problems.collect([&] { return whole_number("--seed", f.seed, 0, 1'000'000'000); }))
      options.seed = static_cast<std::uint64_t>(*n);
  for (const auto& text : f.work_scale)
    problems.collect([&] {
      const auto [kind, value] = assignment("--work-scale", text);
      const auto i = one_of("--work-scale", kind, works);
      options.work_scale[static_cast<workloads::Work>(i)] = factor("--work-scale", value, 0, 1e6);
      return true;
    });
  for (const auto& text : f.slow)
    problems.collect([&] {
      const auto [rank, value] = assignment("--slow", text);
      options.slow_ranks[whole_number("--slow", rank, 0, 100'000'000)] = factor("--slow", value, 0, 1e6);
      return true;
    });
  options.keep_communication = f.keep_communication;
  options.share = !f.alone;
  if (workloads::is_recorded_scenario(files.front(), {}))
    problems.add(fmt::format("{} is a scenario, which names its machine itself", files.front()),
                 "leave --topology out, or write --set topology=" + f.topology);
  problems.finish();
  auto recording = workloads::open_recording(files, reading);
  auto cluster = workloads::cluster_for(f.topology, load, recording.world);
  return {std::filesystem::path{files.front()}.filename().string(), std::move(cluster), std::move(recording),
          std::move(options)};
}

}  // namespace linkcast::cli
