// See layers.hpp. All mistakes of a file are reported at once, at their places.
#include "layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "astra_inputs.hpp"
#include "byte_source.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::readers {
namespace {

using namespace layers;
using models::nccl::Op;

constexpr std::int64_t most_ns = std::int64_t{4'000'000'000'000'000}, most_bytes = std::int64_t{1} << 50;
constexpr int most_ranks = 1 << 22;

const std::map<std::string, Policy>& policies() {
  static const std::map<std::string, Policy> all{{"DATA", Policy::data},
                                                 {"MODEL", Policy::model},
                                                 {"DISTRIBUTED_INFERENCE", Policy::model},
                                                 {"HYBRID_DATA_MODEL", Policy::data_model},
                                                 {"HYBRID_MODEL_DATA", Policy::model_data},
                                                 {"HYBRID_DLRM", Policy::dlrm},
                                                 {"HYBRID_DLRM_ENHANCED", Policy::dlrm},
                                                 {"HYBRID_TRANSFORMER", Policy::transformer},
                                                 {"HYBRID_TRANSFORMER_FWD_IN_BCKWD", Policy::recompute},
                                                 {"HYBRID_CUSTOMIZED", Policy::transformer},
                                                 {"MICRO", Policy::micro}};
  return all;
}

struct Word {
  std::string text;
  int column = 0;
};

std::vector<Word> words(std::string_view line) {
  std::vector<Word> out;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos && out.size() < 4096) {
    const auto end = std::min(line.find_first_of(" \t\r", at), line.size());
    out.push_back({std::string{line.substr(at, end - at)}, static_cast<int>(at) + 1});
    at = end;
  }
  return out;
}

std::optional<std::int64_t> number(const std::string& s, std::int64_t most) {
  double x = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), x);
  if (error != std::errc{} || end != s.data() + s.size() || !(x >= 0) || x > static_cast<double>(most))
    return std::nullopt;
  return static_cast<std::int64_t>(x + 0.5);
}

class File {
 public:
  File(std::string path, std::string text) : path_{std::move(path)}, text_{std::move(text)} {}

  Workload read(Recording& out) {
    std::string_view rest{text_};
    int line = 0, declared = -1;
    bool has_policy = false;
    while (!rest.empty()) {
      const auto end = std::min(rest.find('\n'), rest.size());
      const auto w = words(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      ++line;
      if (w.empty()) continue;
      if (!has_policy) {
        policy(w, line);
        has_policy = true;
      } else if (declared < 0) {
        const auto n = number(w[0].text, 1 << 24);
        if (!n) fail(line, w[0], "the number of layers expected", "the second line is how many layers follow");
        declared = n ? static_cast<int>(*n) : 1 << 24;
      } else if (static_cast<int>(w_.layers.size()) < declared) {
        layer(w, line);
        ++out.report->records;
        ++out.report->used;
      } else {
        ++out.report->records;
        out.report->skip("a line beyond the number of layers that line 2 says", fmt::format("{}:{}", path_, line));
      }
      if (problems_.size() > 100) break;
    }
    if (problems_.empty() && w_.layers.empty()) fail(line, {"", 1}, "no layer", "a policy, their number, then layers");
    if (!problems_.empty()) throw sim::InputError(std::move(problems_), text_);
    if (static_cast<int>(w_.layers.size()) < declared)
      out.report->skip(fmt::format("layers that are missing: line 2 says {}, {} follow", declared, w_.layers.size()),
                       fmt::format("{}:{}", path_, line));
    return std::move(w_);
  }

  bool ranks_said() const { return ranks_said_; }

 private:
  void fail(int line, const Word& at, std::string problem, std::string help) {
    problems_.push_back({{path_, line, at.column, static_cast<int>(std::max<std::size_t>(at.text.size(), 1))},
                         std::move(problem),
                         std::move(help)});
  }

  void policy(const std::vector<Word>& w, int line) {
    const auto found = policies().find(w[0].text);
    if (found == policies().end()) {
      std::vector<std::string> names;
      for (const auto& [name, p] : policies()) names.push_back(name);
      const auto near = sim::nearest(w[0].text, names);
      fail(line, w[0], fmt::format("unknown policy '{}'", w[0].text),
           near.empty() ? fmt::format("known: {}", fmt::join(names, ", ")) : fmt::format("did you mean '{}'?", near));
      return;
    }
    w_.policy = found->second;
    if (w_.policy == Policy::dlrm && w.size() == 2)
      if (const auto n = number(w[1].text, 1 << 24)) w_.last_bottom = static_cast<int>(*n);
    for (std::size_t i = 1; i < w.size(); ++i) {
      auto key = w[i].text;
      if (!key.ends_with(':') && key != "pp_comm") continue;
      if (key.ends_with(':')) key.pop_back();
      const auto value = i + 1 < w.size() ? number(w[i + 1].text, most_bytes) : std::nullopt;
      if (!value) {
        fail(line, w[i], fmt::format("'{}' without a number", key), "as in: model_parallel_NPU_group: 8");
        continue;
      }
      const auto count = [&](int& out) {
        if (*value < 1 || *value > most_ranks)
          fail(line, w[i + 1], fmt::format("'{}' is {}", key, *value), "a number of at least 1");
        else
          out = static_cast<int>(*value);
      };
      const auto list = [&](std::vector<bool>& out) {
        for (std::int64_t k = 0; k < *value && i + 2 + static_cast<std::size_t>(k) < w.size(); ++k) {
          const auto at = number(w[i + 2 + static_cast<std::size_t>(k)].text, 1 << 24);
          if (!at) break;
          if (out.size() <= static_cast<std::size_t>(*at)) out.resize(static_cast<std::size_t>(*at) + 1);
          out[static_cast<std::size_t>(*at)] = true;
        }
      };
      if (key == "model_parallel_NPU_group") count(w_.plan.tensor), w_.simai = true;
      if (key == "ep") count(w_.plan.expert);
      if (key == "pp") count(w_.plan.pipeline);
      if (key == "vpp") count(w_.virtual_stages);
      if (key == "ga") count(w_.microbatches);
      if (key == "all_gpus") count(w_.plan.world), ranks_said_ = true;
      if (key == "pp_comm") w_.pp_bytes = *value;
      if (key == "checkpoints") list(w_.checkpoint);
      if (key == "checkpoint_initiates") list(w_.initiates);
      if (key == "DLRM_LAST_BOTTOM_LAYER") w_.last_bottom = static_cast<int>(std::min<std::int64_t>(*value, 1 << 24));
    }
  }

  void layer(const std::vector<Word>& w, int line) {
    if (w.size() < 12) {
      fail(line, w.back(), fmt::format("{} columns where 12 are expected", w.size()),
           "name dependency, three times (time call bytes), update time");
      return;
    }
    Layer out;
    out.name = w[0].text.substr(0, 200);
    for (std::size_t p = 0; p < 3; ++p) {
      const auto& time = w[2 + 3 * p];
      const auto& bytes = w[4 + 3 * p];
      const auto ns = number(time.text, most_ns);
      const auto size = number(bytes.text, most_bytes);
      if (!ns) fail(line, time, fmt::format("'{}' is not a time in nanoseconds", time.text), "");
      if (!size) fail(line, bytes, fmt::format("'{}' is not a size in bytes", bytes.text), "");
      out.parts[p].ns = ns.value_or(0);
      out.parts[p].call = call(w[3 + 3 * p], line);
      out.parts[p].call.bytes = size.value_or(0);
    }
    const auto update = number(w[11].text, most_ns);
    if (!update) fail(line, w[11], fmt::format("'{}' is not a time in nanoseconds", w[11].text), "");
    out.update_ns = update.value_or(0);
    w_.layers.push_back(std::move(out));
  }

  Call call(const Word& word, int line) {
    Call out;
    auto name = word.text;
    if (name == "NONE") return out;
    for (const auto& [suffix, group] :
         {std::pair{"_DP_EP", "dp_ep"}, std::pair{"_EP", "ep"}, std::pair{"_TP", "tp"}, std::pair{"_DP", "dp"}})
      if (out.group.empty() && name.ends_with(suffix)) {
        name.resize(name.size() - std::string_view{suffix}.size());
        out.group = group;
      }
    static const std::map<std::string, Op> ops{
        {"ALLREDUCE", Op::all_reduce},         {"ALLTOALL", Op::alltoall},   {"ALLGATHER", Op::all_gather},
        {"REDUCESCATTER", Op::reduce_scatter}, {"BROADCAST", Op::broadcast}, {"REDUCE", Op::reduce},
        {"ALLREDUCEALLTOALL", Op::all_reduce}};
    const auto found = ops.find(name);
    if (found == ops.end()) {
      std::vector<std::string> names{"NONE"};
      for (const auto& [n, op] : ops) names.push_back(n);
      fail(line, word, fmt::format("unknown call '{}'", word.text), fmt::format("known: {}", fmt::join(names, ", ")));
      return out;
    }
    out.any = true;
    out.op = found->second;
    out.and_alltoall = name == "ALLREDUCEALLTOALL";
    return out;
  }

  std::string path_, text_;
  Workload w_;
  bool ranks_said_ = false;
  std::vector<sim::Diagnostic> problems_;
};

/// How many ranks, and how they are divided, from what the file, the caller and the network file say.
void settle(Workload& w, bool said, const AstraBeside& beside, const RecordingOptions& options, const std::string& path,
            ReadReport& report) {
  auto& plan = w.plan;
  const auto model = std::int64_t{plan.tensor} * plan.pipeline;
  if (options.world > 0) {
    if (said && options.world != plan.world)
      report.notes.push_back(fmt::format("{} ranks as asked for; the file was made for {}", options.world, plan.world));
    plan.world = options.world;
  } else if (!said && beside.network) {
    plan.world = beside.network->world();
  } else if (!said) {
    plan.world = static_cast<int>(std::min<std::int64_t>(most_ranks, std::max<std::int64_t>(8, model * plan.expert)));
    report.notes.push_back(
        fmt::format("the file does not say how many ranks there are: {} assumed; say it, or give ASTRA-sim's network "
                    "file",
                    plan.world));
  }
  if (model > plan.world || plan.world % model != 0 || plan.data() % plan.expert != 0)
    throw sim::InputError(
        fmt::format("{}: {} ranks cannot be divided into tensor {} x pipeline {} with {} expert groups in what is left",
                    path, plan.world, plan.tensor, plan.pipeline, plan.expert),
        "all_gpus is a multiple of model_parallel_NPU_group x pp, and that of ep");
  w.inner = beside.network ? beside.network->npus.front() : std::min(8, plan.world);
  if (plan.world % w.inner != 0) w.inner = plan.world;
  if ((w.policy == Policy::data_model || w.policy == Policy::model_data) && !beside.network)
    report.notes.push_back(fmt::format("the innermost dimension is taken to have {} ranks, one node", w.inner));
  if ((w.policy == Policy::transformer || w.policy == Policy::recompute) && !w.simai) {
    plan.tensor = w.inner;
    report.notes.push_back(fmt::format("no model_parallel_NPU_group: {} ranks, one node, share a layer", w.inner));
  }
}

}  // namespace

bool is_layers(const Probe& probe) {
  const auto end = probe.head.find('\n');
  if (end == std::string::npos) return false;
  const auto first = words(std::string_view{probe.head}.substr(0, end));
  const auto second = words(std::string_view{probe.head}.substr(end + 1, probe.head.find('\n', end + 1) - end - 1));
  return !first.empty() && policies().contains(first[0].text) && second.size() == 1 &&
         number(second[0].text, 1 << 24).has_value();
}

Recording open_layers(const std::vector<std::string>& paths, const RecordingOptions& options) {
  if (paths.size() > 1)
    throw sim::InputError(fmt::format("{}: one file has all layers of a workload", paths[1]), "give one file");
  Recording out;
  const auto beside = read_astra_beside(options.beside);
  File file{paths[0], read_whole(paths[0], std::size_t{1} << 28)};
  auto w = file.read(out);
  settle(w, file.ranks_said(), beside, options, paths[0], *out.report);
  out.world = w.plan.world;
  w.checkpoint.resize(w.layers.size());
  write_pass(w, out);
  if (out.communicators.empty()) communicator_of(out, w.plan, "world");
  out.report->generation = w.simai ? "SimAI" : "ASTRA-sim";
  out.report->notes.push_back("one rank stands for all: layers are written for one");
  if (w.plan.pipeline > 1)
    out.report->notes.push_back(
        fmt::format("pipeline of {}: other stages are not in the file; a gap stands for filling and draining, and "
                    "messages are taken to arrive when they are waited for",
                    w.plan.pipeline));
  out.source = fmt::format("a workload of {} layers", w.layers.size());
  return out;
}

}  // namespace linkcast::workloads::readers
