// `linkcast diagnose`: are these numbers normal, and if not, what is broken.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "linkcast/calibration/diagnose.hpp"
#include "linkcast/workloads/sizes.hpp"
#include "words.hpp"

namespace linkcast::cli {
namespace {

struct Options {
  std::vector<std::string> paths;
  std::string topology, gpu, nodes, gpus, nics, network, nccl, profile;
  std::vector<std::string> set, env, busbw, algbw, p2p, bidirectional, experts;
  bool json = false;
};

/// "186GB/s", "98 Gb/s", "186": GB/s.
double bandwidth(std::string_view option, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  std::string unit;
  for (const char* c = end; *c != '\0'; ++c)
    if (*c != ' ') unit += *c;
  const bool bits = unit == "Gb/s" || unit == "Gbps" || unit == "Gbit/s";
  const bool bytes = unit.empty() || unit == "GB/s" || unit == "GBps" || unit == "G";
  if (end == text.c_str() || !(value > 0) || value > 1e7 || (!bits && !bytes))
    throw sim::InputError{fmt::format("{}: '{}' is not a bandwidth", option, text), "write 186GB/s or 98Gb/s"};
  return bits ? value / 8 : value;
}

/// "all_reduce@8G=186GB/s".
calibration::Figure figure(std::string_view option, const std::string& text, calibration::Figure::Metric metric) {
  calibration::Figure f;
  f.metric = metric;
  f.what = text;
  const auto equals = text.find('=');
  if (equals == std::string::npos)
    throw sim::InputError{fmt::format("{}: '{}' names no collective", option, text),
                          "write OP=VALUE or OP@SIZE=VALUE, as in all_reduce@8G=186GB/s"};
  auto op = text.substr(0, equals);
  if (const auto at = op.find('@'); at != std::string::npos) {
    f.size = workloads::parse_size(op.substr(at + 1));
    op = op.substr(0, at);
  }
  f.op = models::nccl::op_from(op);
  if (!f.op)
    throw sim::InputError{fmt::format("{}: unknown collective '{}'", option, op),
                          suggestion(op, models::nccl::op_names())};
  f.GBps = bandwidth(option, text.substr(equals + 1));
  return f;
}

calibration::DiagnoseOptions understand(const Options& o, calibration::Measurements& m, Problems& problems) {
  using Metric = calibration::Figure::Metric;
  calibration::DiagnoseOptions d;
  d.topology = o.topology;
  auto& h = d.hardware;
  h.gpu = o.gpu;
  h.fabric = o.network;
  if (!o.nodes.empty())
    h.nodes = problems.collect([&] { return whole_number("--nodes", o.nodes, 1, 100'000); }).value_or(0);
  if (!o.gpus.empty())
    h.gpus_per_node = problems.collect([&] { return whole_number("--gpus", o.gpus, 1, 1'000'000); }).value_or(0);
  if (h.nodes > 1 && h.gpus_per_node > 0) {
    if (h.gpus_per_node % h.nodes != 0)
      problems.add(fmt::format("--gpus {}: they do not spread evenly over {} nodes", h.gpus_per_node, h.nodes),
                   "--gpus counts the GPUs of all nodes together");
    h.gpus_per_node /= h.nodes;
  }
  if (!o.nics.empty()) {
    problems.collect([&] {
      const auto x = o.nics.find('x');
      char* end = nullptr;
      h.nic_gbps = x == std::string::npos ? 0 : std::strtod(o.nics.c_str() + x + 1, &end);
      if (x == std::string::npos || *end != '\0' || !(h.nic_gbps > 0) || h.nic_gbps > 1e5)
        throw sim::InputError{fmt::format("--nics {}: not a number of NICs and their Gb/s", o.nics), "write 8x400"};
      h.nics_per_node = whole_number("--nics", o.nics.substr(0, x), 1, 256);
      return true;
    });
  }
  if (!o.nccl.empty()) d.nccl = problems.collect([&] { return models::nccl::Version::parse(o.nccl); });
  if (!o.profile.empty())
    problems.collect([&] {
      d.profile = topologies::Profile::read(o.profile);
      return true;
    });
  problems.collect([&] {
    d.params = assignments("--set", o.set);
    return true;
  });
  for (const auto& text : o.env) {
    problems.collect([&] {
      const auto [name, value] = assignment("--env", text);
      d.env.set(name, value);
      return true;
    });
  }
  const auto take = [&](const char* option, const std::vector<std::string>& texts, auto read) {
    for (const auto& text : texts)
      if (auto f = problems.collect([&] { return read(option, text); })) m.figures.push_back(std::move(*f));
  };
  take("--busbw", o.busbw, [](const char* n, const std::string& t) { return figure(n, t, Metric::busbw); });
  take("--algbw", o.algbw, [](const char* n, const std::string& t) { return figure(n, t, Metric::algbw); });
  const auto plain = [](Metric metric, const char* what) {
    return [metric, what](const char* n, const std::string& t) {
      calibration::Figure f;
      f.metric = metric;
      f.what = what;
      f.GBps = bandwidth(n, t);
      return f;
    };
  };
  take("--p2p", o.p2p, plain(Metric::p2p, "GPU to GPU, one direction"));
  take("--p2p-both", o.bidirectional, plain(Metric::p2p_bidirectional, "GPU to GPU, both directions"));
  take("--expert", o.experts, plain(Metric::unknown, "expert dispatch, RDMA"));
  if (!o.set.empty() && o.topology.empty()) problems.add("--set belongs to --topology", "name the topology");
  return d;
}

int perform(const Options& o, Io& io) {
  Problems problems;
  calibration::Measurements said;
  const auto options = understand(o, said, problems);
  problems.finish();
  std::vector<std::filesystem::path> paths(o.paths.begin(), o.paths.end());
  auto m = paths.empty() ? calibration::Measurements{} : calibration::read_everything(paths);
  for (const auto& note : m.notes) io.log.note(note);
  for (auto& f : said.figures) m.figures.push_back(std::move(f));
  // What is set may say enough by itself; the machine must be known then.
  const bool stated = !o.env.empty() && (!o.topology.empty() || !o.gpu.empty());
  if (m.empty() && !stated) {
    problems.add("nothing was measured",
                 "name files (nccl-tests, perftest, nvbandwidth, case.yaml), or say a figure: "
                 "--busbw all_reduce=186GB/s");
    problems.finish();
  }
  const auto diagnosis = calibration::diagnose(m, options);
  io.out << (o.json ? calibration::json_report(diagnosis) : calibration::text_report(diagnosis));
  return diagnosis.verdict == calibration::Verdict::degraded ? check_failed : done;
}

constexpr const char* examples =
    "  linkcast diagnose all_reduce.log\n"
    "      an nccl-tests log: GPUs, ranks and version are in its header\n"
    "  linkcast diagnose --gpu 'H100 SXM' --nodes 2 --nics 8x400 --busbw all_reduce@8G=186GB/s\n"
    "      one number, and what it was measured on\n"
    "  linkcast diagnose all_reduce.log p2p.txt ib_write_bw.txt --topology my-cluster.yaml --json\n"
    "      several together say more\n"
    "Exit status: 0 healthy, or nothing can be said; 1 degraded; 2 wrong input.\n";

}  // namespace

void add_diagnose(Form root) {
  const auto o = std::make_shared<Options>();
  auto form = root.command("diagnose", "are these numbers normal, and if not, what is broken");
  form.words("MEASUREMENT", o->paths, "files: nccl-tests, perftest, nvbandwidth, p2pBandwidthLatencyTest, a case YAML");
  form.group("Machine, where the measurements do not say it");
  form.text("-t,--topology", o->topology, "NAME|FILE", "catalog name, Linkcast YAML file, or NCCL topology XML");
  form.list("--set", o->set, "NAME=VALUE", "set a parameter of the topology; may be repeated");
  form.text("--profile", o->profile, "FILE", "fitted numbers, as `linkcast calibrate fit` writes them");
  form.text("--gpu", o->gpu, "NAME", "the GPUs, as people call them: 'H100 SXM', 'RTX A6000'");
  form.text("--nodes", o->nodes, "N", "number of nodes");
  form.text("--gpus", o->gpus, "N", "number of GPUs in total");
  form.text("--nics", o->nics, "NxGBPS", "NICs of each node, e.g. 8x400");
  form.text("--network", o->network, "KIND", "ib, roce, efa, slingshot, tcp, …");
  form.text("--nccl", o->nccl, "X.Y[.Z]", "version of NCCL");
  form.list("--env", o->env, "NCCL_X=VALUE", "an NCCL_* variable, as on the machine; may be repeated");
  form.group("Single figures (GB/s where no unit is given); may be repeated");
  form.list("--busbw", o->busbw, "OP[@SIZE]=VALUE", "bus bandwidth of a collective");
  form.list("--algbw", o->algbw, "OP[@SIZE]=VALUE", "algorithm bandwidth of a collective");
  form.list("--p2p", o->p2p, "VALUE", "copy between two GPUs, one direction");
  form.list("--p2p-both", o->bidirectional, "VALUE", "copy between two GPUs, both directions together");
  form.list("--expert", o->experts, "VALUE", "expert-parallel dispatch or combine, RDMA (DeepEP)");
  form.group("Output");
  form.flag("--json", o->json, "JSON of schema linkcast.diagnose/1");
  form.examples(examples);
  form.performs([o](Io& io) { return perform(*o, io); });
}

}  // namespace linkcast::cli
