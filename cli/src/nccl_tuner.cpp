// See nccl_tuner.hpp. Decides nothing: workloads/tuner_search.hpp does.
#include "nccl_tuner.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "linkcast/workloads/tuner_search.hpp"
#include "write_file.hpp"

namespace linkcast::cli {
namespace {

using models::nccl::Op;

constexpr std::array ops{Op::all_reduce, Op::all_gather, Op::reduce_scatter, Op::broadcast, Op::reduce};
constexpr std::int64_t smallest = 256, largest = std::int64_t{8} << 30;

struct Tuned {
  Op op;
  std::vector<workloads::TunedSize> sizes;
  std::vector<models::nccl::TunerRule> rules;
};

std::string choice_text(const models::nccl::Selection& s) {
  return fmt::format("{}/{} on {}", name_of(s.algorithm), name_of(s.protocol), s.channels);
}
double gain(const workloads::TunedSize& t) { return (1 - t.best_time.us() / t.nccl_time.us()) * 100; }
/// A bound of a rule: every size that was simulated lies inside of one.
std::string bound_text(std::int64_t bytes) {
  return bytes == models::nccl::TunerRule::no_limit ? "-" : fmt::format("{}", bytes);
}

/// The largest and the mean saving over all sizes of a rule, and what NCCL takes there.
struct Saving {
  double largest = 0, mean = 0;
  sim::Bytes at;
  std::string instead_of;
};
Saving saving(const Tuned& tuned, const models::nccl::TunerRule& rule) {
  Saving s;
  int n = 0;
  for (const auto& t : tuned.sizes) {
    if (t.size.count() < rule.min_bytes || t.size.count() > rule.max_bytes) continue;
    ++n;
    s.mean += gain(t);
    if (n > 1 && gain(t) <= s.largest) continue;
    s.largest = gain(t);
    s.at = t.size;
    s.instead_of = choice_text(t.nccl);
  }
  s.mean /= std::max(1, n);
  return s;
}

std::string file_text(const Machine& machine, const Library& library, const std::vector<Tuned>& all) {
  std::string out = fmt::format(
      "# For NCCL's example tuner plugin (plugins/tuner/example): NCCL_TUNER_PLUGIN and NCCL_TUNER_CONFIG_FILE.\n"
      "# Found by simulation: {}, {} ranks on {} node{}, NCCL {}.\n"
      "# The plugin gives one channel to every call that matches no rule: use this file where all communicators have\n"
      "# these nodes and ranks, or add rules for the others.\n"
      "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n",
      machine.cluster.name(), machine.cluster.ranks(), machine.cluster.nodes(), machine.cluster.nodes() == 1 ? "" : "s",
      library.version.str());
  for (const auto& t : all)
    for (const auto& r : t.rules) out += csv_line(r) + "\n";
  return out;
}

std::string answer_text(const Machine& machine, const Library& library, const std::string& path,
                        const std::vector<Tuned>& all) {
  auto out = fmt::format("NCCL {} on {}: {} ranks, {} node{}\n\n", library.version.str(), machine.cluster.name(),
                         machine.cluster.ranks(), machine.cluster.nodes(), machine.cluster.nodes() == 1 ? "" : "s");
  out += fmt::format("{:<15}{:>13}{:>13}  {:<24}{:>10}{:>10}  {}\n", "collective", "from (B)", "to (B)", "fastest",
                     "mean gain", "largest", "at, where NCCL takes");
  double sum = 0;
  std::size_t n = 0, rules = 0;
  for (const auto& t : all) {
    for (const auto& r : t.rules) {
      const auto s = saving(t, r);
      out += fmt::format("{:<15}{:>13}{:>13}  {:<24}{:>8.1f} %{:>8.1f} %  {}, {}\n", name_of(r.op), r.min_bytes,
                         bound_text(r.max_bytes), choice_text({r.algorithm, r.protocol, r.channels}), s.mean, s.largest,
                         size_text(s.at), s.instead_of);
    }
    for (const auto& x : t.sizes) sum += gain(x), ++n;
    rules += t.rules.size();
  }
  out += fmt::format(
      "\n{} rules written to {}: {:.1f} % less time than with NCCL's own choice, on average over {} calls from {} to "
      "{}\n"
      "(time on the GPUs, without the host's launch; the model's expected error is in `linkcast collective`)\n",
      rules, path, n ? sum / static_cast<double>(n) : 0.0, n, size_text(sim::Bytes{smallest}),
      size_text(sim::Bytes{largest}));
  return out + "\nNext: the same command with --tuner " + path + " --explain all_reduce:4M shows which rule is taken\n";
}

std::string answer_json(const Machine& machine, const Library& library, const std::string& path,
                        const std::vector<Tuned>& all) {
  nlohmann::ordered_json out;
  out["schema"] = "linkcast.tuner/1";
  out["topology"] = machine.cluster.name();
  out["nodes"] = machine.cluster.nodes();
  out["ranks"] = machine.cluster.ranks();
  out["nccl"] = library.version.str();
  out["file"] = path;
  out["rules"] = nlohmann::ordered_json::array();
  out["calls"] = nlohmann::ordered_json::array();
  const auto choice = [](const models::nccl::Selection& s) {
    return nlohmann::ordered_json{
        {"algorithm", name_of(s.algorithm)}, {"protocol", name_of(s.protocol)}, {"channels", s.channels}};
  };
  for (const auto& t : all) {
    for (const auto& r : t.rules) out["rules"].push_back(csv_line(r));
    for (const auto& s : t.sizes)
      out["calls"].push_back({{"op", name_of(t.op)},
                              {"size_bytes", s.size.count()},
                              {"nccl", choice(s.nccl)},
                              {"nccl_time_us", us(s.nccl_time)},
                              {"best", choice(s.best)},
                              {"best_time_us", us(s.best_time)}});
  }
  return out.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int write_tuner(const std::string& path, const Machine& machine, const Library& library, bool as_json, Io& io) {
  if (machine.cluster.ranks() < 2)
    throw UsageError{"error: a collective needs at least 2 ranks\n  help: --gpus 2 or more"};
  check_writable("--write-tuner", path);
  workloads::CommunicatorOptions options;
  options.nccl = library.version;
  options.env = library.env;
  options.launch_floor = sim::Time{};
  const workloads::CollectiveModel model{machine.cluster, options};
  std::vector<sim::Bytes> sizes;
  for (auto bytes = smallest; bytes <= largest; bytes *= 2) sizes.emplace_back(bytes);
  std::vector<Tuned> all;
  for (const auto op : ops) {
    Tuned t{op, workloads::tune(model, op, sizes, [&] { return io.stop.stop_requested(); }), {}};
    // A file of a part of the sizes would mislead the plugin.
    if (io.stop.stop_requested()) return interrupted;
    t.rules = workloads::tuner_rules(op, t.sizes, machine.cluster.nodes(), machine.cluster.ranks());
    all.push_back(std::move(t));
  }
  write_file("--write-tuner", path, file_text(machine, library, all));
  io.out << (as_json ? answer_json(machine, library, path, all) : answer_text(machine, library, path, all));
  return done;
}

}  // namespace linkcast::cli
